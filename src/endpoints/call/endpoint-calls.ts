import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { contentTag } from '../../base/content-tag.ts'
import { notCached } from '../../base/errors.ts'
import type { TraceSpan } from '../../base/tracing.ts'
import { cacheKey } from '../../cache/cache-key.ts'
import type { CacheResponse, CacheRequest, CacheDirectives, Compute } from '../../cache/cache-request.ts'
import type { WarmKey } from '../../cache/warm-keys-file.ts'
import type { CachedGroup, ResultCache } from '../../cache/result-cache.ts'
import type { Arrivals } from '../../catalog/arrivals.ts'
import type { Blame } from '../../engine/engine.ts'
import { callerSqlSettings } from '../../sql/isolation.ts'
import type { Endpoint } from '../definition/endpoint.ts'
import type { BoundValues } from '../definition/parameters.ts'
import type { Endpoints } from '../manage/endpoints.ts'
import type { BoundCall, RunResult, EndpointRunner, Part, RunPurpose } from './endpoint-runner.ts'
import type { EngineTime } from './engine-time.ts'
import { spanOf } from './incremental.ts'
import { type OutputFormat, outputFormats } from './output-formats.ts'
import { type OldResult, RenewingRun } from './renewing-run.ts'
import { type Sandboxes, sqlOf } from './sandboxes.ts'

export interface EndpointCall {
  endpoint: Endpoint
  /** As the caller sent them, unchecked. */
  parameters: Readonly<Record<string, string>>
  format: OutputFormat
  caller: string
  project: string | undefined
  signal: AbortSignal
  directives: CacheDirectives
  /** The trace that the call is part of. */
  trace?: TraceSpan | undefined
  /** A call where nothing is said. */
  purpose?: RunPurpose | undefined
  /** Where the time is written down that the call itself has the engine. */
  spent?: EngineTime | undefined
}

export type CallResponse =
  | { kind: 'computed'; answer: RunResult }
  | { kind: 'cached'; answer: CacheResponse; key: string }

/** A call whose result somebody follows. */
export interface FollowedCall {
  /** The same for calls with the same results. */
  key: string
  endpointId: string
  /** Null: every look is a run. */
  cacheSeconds: number | null
  /** Sources that the query may read. */
  sources: readonly string[]
  /** The result as it is now, from the cache where there is one. */
  look(signal: AbortSignal, caller?: string): Promise<FollowedAnswer>
}

export interface FollowedAnswer {
  etag: string
  /** Taken before the look: what came later may not be in it. */
  mark: number | undefined
  body: Buffer
  truncated: boolean
}

export interface EndpointCallsOptions {
  runner: EndpointRunner
  cache: ResultCache
  endpoints: Endpoints
  sandboxes: Sandboxes
  clock: Clock
  /** Undefined where others write to the engine, too: then nobody here knows what came. */
  arrivals: Arrivals | undefined
}

/** Enough to make a call again that nobody makes: for the warming after a restart. */
const recipeShape = z.object({
  endpoint: z.string(),
  version: z.int(),
  parameters: z.record(z.string(), z.string()),
  project: z.string().optional(),
  format: z.string(),
})

type Recipe = z.output<typeof recipeShape>

/** Renewals stand in one line of their own, and so does looking again for those who follow a result. */
const warmer = 'wellhead:warming'
const follower = 'wellhead:following'

/** Answers calls from the cache where the endpoint has one, and otherwise by running its query. */
export class EndpointCalls {
  readonly #options: EndpointCallsOptions

  constructor(options: EndpointCallsOptions) {
    this.#options = options
  }

  /** A result that is here and fresh, without waiting for anything; else what has to be waited for. */
  call(call: EndpointCall): CallResponse | Promise<CallResponse> {
    const { endpoint, directives, signal, trace } = call
    if (endpoint.definition.cache_seconds === null) {
      if (directives.onlyIfCached) throw notCached()
      return this.#run(call, signal).then((answer) => ({ kind: 'computed', answer }))
    }
    const request = this.#request(call, endpoint.definition.cache_seconds)
    const { key } = request
    const known = this.#options.cache.lookup(key, directives)
    if (known) return { kind: 'cached', answer: known, key }
    return this.#options.cache.get({ ...request, directives, signal, trace }).then((answer) => {
      if (!answer) throw notCached()
      return { kind: 'cached', answer, key }
    })
  }

  /** What is in the cache, by the id of the endpoint. */
  cached(): Map<string, CachedGroup> {
    return this.#options.cache.groups()
  }

  /** What a call with this key would get, if that is here and fresh. */
  again(key: string): CacheResponse | undefined {
    return this.#options.cache.lookup(key)
  }

  /** Checks the call as any other; what it gives can be looked at again and again. */
  follow(call: Omit<EndpointCall, 'signal' | 'directives'>): FollowedCall {
    const { endpoint } = call
    const { id: endpointId, cache_seconds: cacheSeconds } = endpoint.definition
    const request = this.#request({ ...call, purpose: 'follow' }, cacheSeconds ?? 0)
    const sources = [...endpoint.compiled.possibleSources]
    const look: FollowedCall['look'] = async (signal, asking) => {
      const mark = this.#options.arrivals?.mark()
      // The first look belongs to who asked for it; later ones are part of nobody's trace.
      const own = { caller: follower, trace: undefined, spent: undefined }
      const by = asking === undefined ? own : { caller: asking }
      if (cacheSeconds === null) {
        const { body, truncated } = await this.#run({ ...call, ...by, purpose: 'follow' }, signal)
        return { etag: `"${contentTag(`${truncated}\n`, body)}"`, mark, body, truncated }
      }
      const answer = await this.#options.cache.get({ ...request, signal })
      if (!answer) throw notCached()
      const { body, etags, truncated } = answer.result
      return { etag: etags[0] as string, mark, body, truncated }
    }
    return { key: request.key, endpointId, cacheSeconds, sources, look }
  }

  async explain(call: EndpointCall) {
    return this.#options.runner.explain(await this.#bound(call, call.signal))
  }

  /** Renews what was asked for before a restart, as far as it is still the same. */
  async prewarm(hot: readonly WarmKey[]): Promise<void> {
    const requests = hot.flatMap(({ recipe, lastUsedMs, uses }) => {
      const request = this.#remade(recipe)
      return request ? [{ request, lastUsedMs, uses }] : []
    })
    await this.#options.cache.prewarm(requests)
  }

  #request(call: Omit<EndpointCall, 'signal' | 'directives'>, cacheSeconds: number): CacheRequest {
    const { endpoint, format, project, parameters, caller, spent, purpose: why } = call
    const { definition, version } = endpoint
    const sent = sentOf(endpoint, parameters)
    const recipe: Recipe = {
      endpoint: definition.id,
      version,
      parameters: sent,
      ...(project !== undefined && { project }),
      format: format.name,
    }
    const values = endpoint.compiled.check(parameters)
    const renewing = this.#renewing(endpoint, values, format)
    const compute: Compute = async ({ purpose, signal, previous, trace }) => {
      const by =
        purpose === 'refresh'
          ? ({ caller: warmer, purpose: 'renewal' } as const)
          : { caller, spent, purpose: why }
      const run = (part?: Part) =>
        this.#run({ endpoint, parameters: sent, format, project, ...by, trace }, signal, part)
      const answer = await (renewing ? renewing(previous, run) : run())
      return answer === 'unchanged' ? answer : { ...answer, contentType: format.contentType }
    }
    return {
      key: cacheKey({
        endpointId: definition.id,
        version,
        tenant: project ?? null,
        parameters: {
          ...values,
          ...(sent.sql !== undefined && definition.sandbox && { sql: sent.sql }),
        },
        format: format.name,
      }),
      group: definition.id,
      policy: { cacheSeconds, warmSeconds: definition.warm_seconds },
      compute,
      recipe,
    }
  }

  /** How a result is renewed by its newest part, where that can be done. */
  #renewing({ definition, compiled }: Endpoint, values: BoundValues, format: OutputFormat) {
    const { arrivals, clock } = this.#options
    const { incremental, max_rows: maxRows } = definition
    if (!arrivals || !incremental || format.name !== 'json') return undefined
    const span = spanOf(incremental, values[incremental.by ?? ''])
    if (!span) return undefined
    const { column, whole_buckets: wholeBuckets } = incremental
    const renewing = new RenewingRun()
    return (previous: OldResult | undefined, run: (part?: Part) => Promise<RunResult>) =>
      renewing.run(previous, {
        run,
        clock,
        arrivals,
        sources: [...compiled.possibleSources],
        column,
        span,
        wholeBuckets,
        maxRows,
      })
  }

  async #run(
    call: Omit<EndpointCall, 'signal' | 'directives'>,
    signal: AbortSignal,
    part?: Part,
  ): Promise<RunResult> {
    return this.#options.runner.run(await this.#bound(call, signal), part)
  }

  async #bound(call: Omit<EndpointCall, 'signal' | 'directives'>, signal: AbortSignal): Promise<BoundCall> {
    const { parameters, format, caller, project, trace, spent, purpose } = call
    const values = call.endpoint.compiled.check(parameters)
    const { sandboxes, runner } = this.#options
    const blame = blameFor(call)
    const bound = { values, format, caller, project, signal, trace, spent, purpose, blame }
    if (sqlOf(call.endpoint, parameters) === undefined) return { ...bound, endpoint: call.endpoint }
    let checkMs = 0
    const endpoint =
      sandboxes.known(call.endpoint, parameters) ??
      // To look at SQL takes the engine's time, too.
      (await runner.inTurn({ caller, signal, purpose }, async () => {
        const since = performance.now()
        const compiled = await sandboxes.compile(call.endpoint, parameters, blame)
        checkMs = performance.now() - since
        return compiled
      }))
    return { ...bound, endpoint, usedMs: checkMs, settings: callerSqlSettings }
  }

  #remade(text: unknown): CacheRequest | undefined {
    const reading = recipeShape.safeParse(text)
    if (!reading.success) return undefined
    const { endpoint: id, version, parameters, project, format: name } = reading.data
    const endpoint = this.#options.endpoints.find(id)
    const format = outputFormats.find((each) => each.name === name)
    const seconds = endpoint?.definition.cache_seconds ?? null
    if (!endpoint || endpoint.version !== version || !format || seconds === null) return undefined
    try {
      return this.#request({ endpoint, parameters, format, project, caller: warmer }, seconds)
    } catch {
      // Values that were fine once, and would be refused now.
      return undefined
    }
  }
}

/** Ends of the engine within a day that are tolerated of a caller's SQL, of an endpoint that takes any, and of a saved query. */
const tolerated = { callerSql: 1, sandbox: 10, saved: 3 }

/**
 * Who is refused for a while when a call ends the engine. A caller whose own SQL does is out of all sandboxes; one who makes a
 * saved query do it is refused that endpoint. An endpoint tolerates more than one caller can do in a day, so
 * that one of them does not close it for all.
 */
function blameFor({ endpoint, parameters, caller }: Omit<EndpointCall, 'signal' | 'directives'>): Blame[] {
  const { id } = endpoint.definition
  if (sqlOf(endpoint, parameters) === undefined) {
    return [{ key: `caller:${caller} endpoint:${id}`, crashes: tolerated.saved }]
  }
  const sandbox = { key: `sandbox:${id}`, crashes: tolerated.sandbox }
  // Nobody in particular asks for a renewal.
  if (caller === warmer || caller === follower) return [sandbox]
  return [{ key: `caller:${caller}`, crashes: tolerated.callerSql }, sandbox]
}

/** Of what was sent, what the endpoint looks at: the rest is no part of the call. */
function sentOf(endpoint: Endpoint, parameters: Readonly<Record<string, string>>): Record<string, string> {
  const { definition, compiled } = endpoint
  const known = new Set([...Object.keys(definition.parameters), ...compiled.names])
  if (definition.sandbox) known.add('sql')
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => known.has(name)))
}
