import { notCached } from '../../base/errors.ts'
import { contentTag } from '../../base/text/content-tag.ts'
import type { TraceSpan } from '../../base/tracing.ts'
import type { CacheDirectives, CacheRequest, CacheResponse } from '../../cache/cache-request.ts'
import type { ResultCache } from '../../cache/result-cache.ts'
import type { WarmKey } from '../../cache/warm-keys-file.ts'
import type { Engine, QueryPlan } from '../../engine/engine.ts'
import { requireIsolation } from '../../engine/readiness.ts'
import { possibleSources } from '../../sql/tokens.ts'
import type { Endpoint } from '../definition/endpoint.ts'
import type { CompiledQuery } from '../definition/parameters.ts'
import type { Endpoints } from '../manage/endpoints.ts'
import { Computation, type ComputationParts, follower, refresher } from './computation.ts'
import type { Part, RunPurpose, RunResult } from './endpoint-runner.ts'
import type { EngineTime } from './engine-time.ts'
import { findFormat } from './output-formats.ts'
import {
  type CallParameters,
  isCurrent,
  type PreparedCall,
  prepareCall,
  recipeOf,
  recipeShape,
} from './prepared-call.ts'
import type { Sandboxes } from './sandboxes.ts'

export interface EndpointCall extends CallParameters {
  caller: string
  signal: AbortSignal
  directives: CacheDirectives
  trace?: TraceSpan | undefined
  /** 'call' if undefined. */
  purpose?: RunPurpose | undefined
  engineTime?: EngineTime | undefined
}

type BackgroundCall = Omit<EndpointCall, 'signal' | 'directives'>

export type CallResponse =
  | { kind: 'computed'; result: RunResult }
  | ({ kind: 'cached'; key: string } & CacheResponse)

/** Enough characters of a key to tell the results of an endpoint apart. */
const shownKey = 12

export interface FollowedCall {
  /** The same for calls with the same results. */
  key: string
  endpointId: string
  /** Null: each result takes a run. */
  cacheSeconds: number | null
  /** Sources that the query may read. */
  sources: ReadonlySet<string>
  /** The current result, from the cache if possible. Without a caller, it runs on behalf of all followers. */
  latest(signal: AbortSignal, caller?: string): Promise<LatestResult>
}

export interface LatestResult {
  etag: string
  /** Taken before the run: entries that arrived later may be missing from the result. */
  mark: number | undefined
  body: Buffer
  truncated: boolean
}

interface EndpointCallsOptions extends ComputationParts {
  engine: Pick<Engine, 'state'>
  cache: ResultCache
  endpoints: Endpoints
}

export class EndpointCalls {
  readonly cache: ResultCache
  readonly sandboxes: Sandboxes
  readonly #options: EndpointCallsOptions

  constructor(options: EndpointCallsOptions) {
    this.cache = options.cache
    this.sandboxes = options.sandboxes
    this.#options = options
  }

  /** Returns a fresh cached result without waiting. */
  call(call: EndpointCall): CallResponse | Promise<CallResponse> {
    const { endpoint, directives, signal, trace } = call
    const { cache_seconds: cacheSeconds } = endpoint.definition
    if (cacheSeconds === null && directives.onlyIfCached) throw notCached()
    const prepared = this.#prepare(call)
    if (cacheSeconds === null) {
      return new Computation(prepared, this.#options)
        .run(call)
        .then((result) => ({ kind: 'computed', result }))
    }
    const { key } = prepared
    const cached = this.cache.lookup(key, directives)
    if (cached) return { kind: 'cached', key, ...cached }
    const request = this.#cacheRequest(call, prepared)
    return this.cache.get({ ...request, directives, signal, trace }).then((found) => {
      if (!found) throw notCached()
      return { kind: 'cached', key, ...found }
    })
  }

  /** Cached results of an endpoint, the most used first. */
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

  follow(call: BackgroundCall): FollowedCall {
    const { arrivals } = this.#options
    const { id: endpointId, cache_seconds: cacheSeconds } = call.endpoint.definition
    const prepared = this.#prepare(call)
    const computation = new Computation(prepared, this.#options)
    const first = { ...call, purpose: follower.purpose }
    const request = this.#cacheRequest(first, prepared, computation)
    return {
      key: prepared.key,
      endpointId,
      cacheSeconds,
      sources: request.sources,
      latest: async (signal, caller) => {
        this.#checkIsolation(prepared)
        const mark = arrivals?.mark()
        if (cacheSeconds === null) {
          const requester = caller === undefined ? follower : { ...first, caller }
          const { body, truncated } = await computation.run({ ...requester, signal })
          return { etag: `"${contentTag(`${truncated}\n`, body)}"`, mark, body, truncated }
        }
        const response = await this.cache.get({ ...request, signal })
        if (!response) throw notCached()
        const { body, etags, truncated } = response.result
        return { etag: etags[0] as string, mark, body, truncated }
      },
    }
  }

  /** Runs the query as of another time, without the cache. */
  runAt(call: Omit<EndpointCall, 'directives'>, part: Part): Promise<RunResult> {
    return new Computation(this.#prepare(call), this.#options).run(call, part)
  }

  async explain(call: EndpointCall): Promise<QueryPlan> {
    return new Computation(prepareCall(call), this.#options).explain(call)
  }

  /** Computes the results that were warm before a restart, if their endpoints have not changed. */
  async prewarm(keys: readonly WarmKey[]): Promise<void> {
    const requests = keys.flatMap(({ recipe, lastUsedMs, uses }) => {
      const request = this.#fromRecipe(recipe)
      return request ? [{ request, lastUsedMs, uses }] : []
    })
    await this.cache.prewarm(requests)
  }

  #prepare(call: CallParameters): PreparedCall {
    const prepared = prepareCall(call)
    this.#checkIsolation(prepared)
    return prepared
  }

  /** Refuses cached results, too, because an engine that shows tenants rows of others may have shown them before. */
  #checkIsolation({ project, sql }: PreparedCall): void {
    if (project !== undefined || sql !== undefined) requireIsolation(this.#options.engine)
  }

  #cacheRequest(
    call: BackgroundCall,
    prepared: PreparedCall,
    computation = new Computation(prepared, this.#options),
  ): CacheRequest {
    const { id, cache_seconds: cacheSeconds, warm_seconds: warmSeconds } = call.endpoint.definition
    return {
      key: prepared.key,
      group: id,
      sources: sourcesOf(call.endpoint),
      policy: { cacheSeconds: cacheSeconds ?? 0, warmSeconds },
      compute: computation.forCache(call),
      recipe: recipeOf(call),
    }
  }

  #fromRecipe(recipe: unknown): CacheRequest | undefined {
    const reading = recipeShape.safeParse(recipe)
    if (!reading.success) return undefined
    const { endpoint: id, parameters, project, format: formatId } = reading.data
    const endpoint = this.#options.endpoints.find(id)
    const format = findFormat(formatId)
    if (!endpoint || !isCurrent(reading.data, endpoint) || !format) return undefined
    if (endpoint.definition.cache_seconds === null) return undefined
    const call = { endpoint, parameters, format, project, ...refresher }
    try {
      return this.#cacheRequest(call, prepareCall(call))
    } catch {
      // Parameters that were valid may not be anymore.
      return undefined
    }
  }
}

const sandboxSources = new WeakMap<CompiledQuery, ReadonlySet<string>>()

/** Sources that a call may read. A caller's SQL can use views that the endpoint's own SELECT does not. */
function sourcesOf({ definition, compiled }: Endpoint): ReadonlySet<string> {
  if (!definition.sandbox) return compiled.possibleSources
  const sources = sandboxSources.get(compiled) ?? possibleSources(compiled.sql)
  sandboxSources.set(compiled, sources)
  return sources
}
