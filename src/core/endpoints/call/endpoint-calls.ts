import type { Arrivals } from '../../base/arrivals.ts'
import { notCached } from '../../base/errors.ts'
import type { CallResponse } from '../../cache/cacheable.ts'
import type { Result } from '../../cache/result.ts'
import type { ResultCache } from '../../cache/result-cache.ts'
import type { WarmKey } from '../../cache/warm-keys-file.ts'
import type { Engine, QueryPlan } from '../../engine/engine.ts'
import { requireIsolation } from '../../engine/server-engine.ts'
import type { Endpoints } from '../manage/endpoints.ts'
import { type Call, callOf, onBehalfOfAll, recipeShape, resultTag } from './call.ts'
import type { EndpointRunner } from './endpoint-runner.ts'
import { findFormat } from './output-formats.ts'
import type { Sandboxes } from './sandboxes.ts'

export type { CallResponse }

/** Enough characters of a key to tell the results of an endpoint apart. */
const shownKey = 12

export type LatestResult = Awaited<ReturnType<EndpointCalls['latest']>>

interface EndpointCallsOptions {
  engine: Pick<Engine, 'state'>
  runner: EndpointRunner
  cache: ResultCache<Call>
  endpoints: Endpoints
  /** How far back a plan lets a project see. For calls that nobody requests at the moment. */
  retentionOf: (project: string | undefined) => number | undefined
  /** Undefined if other services write to the same engine: then not all arrivals are known. */
  arrivals: Arrivals | undefined
}

export class EndpointCalls {
  readonly cache: ResultCache<Call>
  readonly sandboxes: Sandboxes
  readonly retentionOf: EndpointCallsOptions['retentionOf']
  readonly #options: EndpointCallsOptions

  constructor(options: EndpointCallsOptions) {
    this.cache = options.cache
    this.sandboxes = options.runner.sandboxes
    this.retentionOf = options.retentionOf
    this.#options = options
  }

  /** Returns a fresh cached result without waiting. */
  call(call: Call): CallResponse | Promise<CallResponse> {
    const { directives } = call
    this.#checkIsolation(call)
    if (isCached(call)) {
      const cached = this.cache.lookup(call.key, directives)
      return cached ?? this.cache.get(call).then(orNotCached)
    }
    if (directives?.onlyIfCached) throw notCached()
    return this.run(call).then(uncached)
  }

  /** The result that a lookup would return, to whomever it belongs. */
  peek(key: string): CallResponse | undefined {
    return this.#options.engine.state().leak === undefined ? this.cache.peek(key) : undefined
  }

  cachedOf(endpointId: string) {
    return this.cache.resultsOf(endpointId).flatMap(({ key, recipe, ...entry }) => {
      const reading = recipeShape.safeParse(recipe)
      if (!reading.success) return []
      const { parameters, project, format, version } = reading.data
      return [
        { ...entry, key: key.slice(0, shownKey), parameters, project: project ?? null, format, version },
      ]
    })
  }

  /** Prepares a call whose results are read again and again. */
  follow(call: Call): Call {
    this.#checkIsolation(call)
    return { ...call, purpose: 'follow' }
  }

  /** The current result, from the cache if possible. Without a caller, it runs on behalf of all followers. */
  async latest(call: Call, signal?: AbortSignal, caller?: string) {
    this.#checkIsolation(call)
    // Taken before the run: entries that arrived later may be missing from the result.
    const mark = this.#options.arrivals?.mark()
    const run = () =>
      this.run(caller === undefined ? onBehalfOfAll(call, 'follow', signal) : { ...call, caller, signal })
    const { body, etags, truncated } = isCached(call)
      ? orNotCached(await this.cache.get({ ...call, signal })).result
      : await run()
    return { etag: etags.identity, mark, body, truncated }
  }

  /** Runs the query without the cache. */
  run(call: Call): Promise<Result> {
    return this.#options.runner.run(call)
  }

  explain(call: Call): Promise<QueryPlan> {
    return this.#options.runner.explain(call)
  }

  /** Computes the results that were warm before a restart, if their endpoints have not changed. */
  async prewarm(keys: readonly WarmKey[]): Promise<void> {
    const calls = keys.flatMap(({ recipe, lastUsedMs, uses }) => {
      const call = this.#fromRecipe(recipe)
      return call ? [{ call, lastUsedMs, uses }] : []
    })
    await this.cache.prewarm(calls)
  }

  /** Refuses cached results, too, because an engine that shows tenants rows of others may have shown them before. */
  #checkIsolation({ isolated }: Call): void {
    if (isolated) requireIsolation(this.#options.engine)
  }

  #fromRecipe(recipe: unknown): Call | undefined {
    const reading = recipeShape.safeParse(recipe)
    if (!reading.success) return undefined
    const { endpoint: id, tag, parameters, project, format: formatId } = reading.data
    const endpoint = this.#options.endpoints.find(id)
    const format = findFormat(formatId)
    if (!endpoint || !format || resultTag(endpoint) !== tag) return undefined
    try {
      const retentionDays = this.retentionOf(project)
      return callOf({ endpoint, parameters, format, project, retentionDays, caller: '', purpose: 'refresh' })
    } catch {
      // Parameters that were valid may not be anymore.
      return undefined
    }
  }
}

function isCached({ endpoint }: Call): boolean {
  return endpoint.definition.cache_seconds !== null
}

/** The response with a result that the cache does not know. */
export function uncached(result: Result): CallResponse {
  const policy = { cacheSeconds: 0, warmSeconds: null }
  return { result, outcome: { kind: 'uncached' }, ageSeconds: 0, ttlSeconds: 0, policy }
}

function orNotCached(response: CallResponse | undefined): CallResponse {
  if (!response) throw notCached()
  return response
}
