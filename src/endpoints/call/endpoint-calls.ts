import type { Clock } from '../../base/clock.ts'
import { notCached } from '../../base/errors.ts'
import { contentTag } from '../../base/text/content-tag.ts'
import type { CacheRequest, CacheResponse, Compute } from '../../cache/cache-request.ts'
import type { ResultCache } from '../../cache/result-cache.ts'
import type { WarmKey } from '../../cache/warm-keys-file.ts'
import type { Arrivals } from '../../catalog/arrivals.ts'
import type { Engine, QueryPlan } from '../../engine/engine.ts'
import { requireIsolation } from '../../engine/server-engine.ts'
import { possibleSources } from '../../sql/tokens.ts'
import { type Endpoint, resultTag } from '../definition/endpoint.ts'
import type { CompiledQuery } from '../definition/parameters.ts'
import type { Endpoints } from '../manage/endpoints.ts'
import type { EndpointRunner, Part, RunResult } from './endpoint-runner.ts'
import { IncrementalRefresh, spanOf } from './incremental-refresh.ts'
import { findFormat } from './output-formats.ts'
import {
  blameFor,
  type EndpointCall,
  follower,
  type PreparedCall,
  prepareCall,
  recipeOf,
  recipeShape,
  refresher,
} from './prepared-call.ts'
import type { Sandboxes } from './sandboxes.ts'

export type CallResponse =
  | { kind: 'computed'; result: RunResult }
  | ({ kind: 'cached'; key: string } & CacheResponse)

/** A run on behalf of others is not part of the first caller's trace and times. */
const untraced = { trace: undefined, engineTime: undefined }

/** Enough characters of a key to tell the results of an endpoint apart. */
const shownKey = 12

export type LatestResult = Awaited<ReturnType<EndpointCalls['latest']>>

interface EndpointCallsOptions {
  engine: Pick<Engine, 'state'>
  runner: EndpointRunner
  cache: ResultCache
  endpoints: Endpoints
  clock: Clock
  /** Undefined if other services write to the same engine: then not all arrivals are known. */
  arrivals: Arrivals | undefined
}

export class EndpointCalls {
  readonly cache: ResultCache
  readonly sandboxes: Sandboxes
  readonly #options: EndpointCallsOptions

  constructor(options: EndpointCallsOptions) {
    this.cache = options.cache
    this.sandboxes = options.runner.sandboxes
    this.#options = options
  }

  /** Returns a fresh cached result without waiting. */
  call(call: EndpointCall): CallResponse | Promise<CallResponse> {
    const { endpoint, directives, signal, trace } = call
    const { cache_seconds: cacheSeconds } = endpoint.definition
    if (cacheSeconds === null && directives?.onlyIfCached) throw notCached()
    const prepared = this.#prepare(call)
    if (cacheSeconds === null) {
      return this.#run(prepared).then((result) => ({ kind: 'computed', result }))
    }
    const { key } = prepared
    const cached = this.cache.lookup(key, directives)
    if (cached) return { kind: 'cached', key, ...cached }
    const request = this.#cacheRequest(prepared)
    return this.cache.get({ ...request, directives, signal, trace }).then((found) => {
      if (!found) throw notCached()
      return { kind: 'cached', key, ...found }
    })
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
  follow(call: EndpointCall): PreparedCall {
    return this.#prepare({ ...call, purpose: follower.purpose })
  }

  /** The current result, from the cache if possible. Without a caller, it runs on behalf of all followers. */
  async latest(call: PreparedCall, signal?: AbortSignal, caller?: string) {
    this.#checkIsolation(call)
    // Taken before the run: entries that arrived later may be missing from the result.
    const mark = this.#options.arrivals?.mark()
    if (call.endpoint.definition.cache_seconds === null) {
      const requester = caller === undefined ? { ...follower, ...untraced } : { caller }
      const { body, truncated } = await this.#run({ ...call, ...requester, signal })
      return { etag: `"${contentTag(`${truncated}\n`, body)}"`, mark, body, truncated }
    }
    const response = await this.cache.get({ ...this.#cacheRequest(call), signal })
    if (!response) throw notCached()
    const { body, etags, truncated } = response.result
    return { etag: etags[0] as string, mark, body, truncated }
  }

  /** Runs the query as of another time, without the cache. */
  runAt(call: EndpointCall, part: Part): Promise<RunResult> {
    return this.#run(this.#prepare(call), part)
  }

  async explain(call: EndpointCall): Promise<QueryPlan> {
    const prepared = prepareCall(call)
    return this.#options.runner.explain({ ...prepared, blame: blameFor(prepared) })
  }

  /** Computes the results that were warm before a restart, if their endpoints have not changed. */
  async prewarm(keys: readonly WarmKey[]): Promise<void> {
    const requests = keys.flatMap(({ recipe, lastUsedMs, uses }) => {
      const request = this.#fromRecipe(recipe)
      return request ? [{ request, lastUsedMs, uses }] : []
    })
    await this.cache.prewarm(requests)
  }

  #prepare(call: EndpointCall): PreparedCall {
    const prepared = prepareCall(call)
    this.#checkIsolation(prepared)
    return prepared
  }

  /** Refuses cached results, too, because an engine that shows tenants rows of others may have shown them before. */
  #checkIsolation({ project, sql }: PreparedCall): void {
    if (project !== undefined || sql !== undefined) requireIsolation(this.#options.engine)
  }

  #run(call: PreparedCall, part?: Part): Promise<RunResult> {
    return this.#options.runner.run({ ...call, blame: blameFor(call) }, part)
  }

  #cacheRequest(call: PreparedCall): CacheRequest {
    const { id, cache_seconds: cacheSeconds, warm_seconds: warmSeconds } = call.endpoint.definition
    return {
      key: call.key,
      group: id,
      sources: sourcesOf(call.endpoint),
      policy: { cacheSeconds: cacheSeconds ?? 0, warmSeconds },
      compute: this.#compute(call),
      recipe: recipeOf(call),
    }
  }

  /** Computes a result on a miss and for each refresh: the whole of it, or only what changed since the last run. */
  #compute(call: PreparedCall): Compute {
    const refresh = this.#refreshOf(call)
    // The cache keeps the rest of it with the result.
    const kept = { ...call, signal: undefined, trace: undefined, directives: undefined }
    return async ({ purpose, signal, previous, trace }) => {
      const requester = purpose === 'refresh' ? { ...refresher, ...untraced } : { trace }
      const run = (part?: Part) => this.#run({ ...kept, ...requester, signal }, part)
      const result = await (refresh ? refresh.run(previous, run) : run())
      return { ...result, contentType: kept.format.contentType }
    }
  }

  #refreshOf({ endpoint, values, format }: PreparedCall): IncrementalRefresh | undefined {
    const { clock, arrivals } = this.#options
    const { incremental, max_rows: maxRows } = endpoint.definition
    if (!arrivals || !incremental || format.id !== 'json') return undefined
    const span = spanOf(incremental, values[incremental.by ?? ''])
    if (!span) return undefined
    const { column, whole_buckets: wholeBuckets } = incremental
    const sources = [...endpoint.compiled.possibleSources]
    return new IncrementalRefresh({ clock, arrivals, sources, column, span, wholeBuckets, maxRows })
  }

  #fromRecipe(recipe: unknown): CacheRequest | undefined {
    const reading = recipeShape.safeParse(recipe)
    if (!reading.success) return undefined
    const { endpoint: id, tag, parameters, project, format: formatId } = reading.data
    const endpoint = this.#options.endpoints.find(id)
    const format = findFormat(formatId)
    if (!endpoint || !format || resultTag(endpoint) !== tag) return undefined
    try {
      return this.#cacheRequest(prepareCall({ endpoint, parameters, format, project, ...refresher }))
    } catch {
      // Parameters that were valid may not be anymore.
      return undefined
    }
  }
}

const sandboxSources = new WeakMap<CompiledQuery, ReadonlySet<string>>()

/** Sources that a call may read. A caller's SQL can use views that the endpoint's own SELECT does not. */
export function sourcesOf({ definition, compiled }: Endpoint): ReadonlySet<string> {
  if (!definition.sandbox) return compiled.possibleSources
  const sources = sandboxSources.get(compiled) ?? possibleSources(compiled.sql)
  sandboxSources.set(compiled, sources)
  return sources
}
