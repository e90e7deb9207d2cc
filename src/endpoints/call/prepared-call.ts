import { z } from 'zod'
import { unknownParameter } from '../../base/errors.ts'
import type { TraceSpan } from '../../base/tracing.ts'
import { type CacheDirectives, cacheKey } from '../../cache/cache-request.ts'
import { type Blame, callerBlame } from '../../engine/engine.ts'
import { type Endpoint, resultTag } from '../definition/endpoint.ts'
import type { BoundValues } from '../definition/parameters.ts'
import type { EngineTime } from './engine-time.ts'
import { formatOf, type OutputFormat } from './output-formats.ts'

export type RunPurpose = 'call' | 'refresh' | 'follow' | 'preview' | 'replay' | 'alert'

/** A call as it was requested. */
export interface EndpointCall {
  readonly endpoint: Endpoint
  /** As sent, unchecked. */
  readonly parameters: Readonly<Record<string, string>>
  readonly format: OutputFormat
  /** The query sees only rows of this project. */
  readonly project: string | undefined
  /** Callers get equal shares of the engine. */
  readonly caller: string
  readonly signal?: AbortSignal | undefined
  readonly directives?: CacheDirectives | undefined
  readonly trace?: TraceSpan | undefined
  /** 'call' if undefined. */
  readonly purpose?: RunPurpose | undefined
  readonly engineTime?: EngineTime | undefined
}

/** A call that is ready to run: everything that its result depends on is checked and bound. */
export interface PreparedCall extends EndpointCall {
  readonly values: BoundValues
  /** The caller's SQL, if the endpoint is a sandbox. */
  readonly sql: string | undefined
  /** The same for calls with the same results. */
  readonly key: string
}

/** Refreshes share one line in the queue of queries, and so do runs for those who follow a result. */
export const refresher = { caller: 'wellhead:warming', purpose: 'refresh' } as const
export const follower = { caller: 'wellhead:following', purpose: 'follow' } as const

/** Throws if a parameter is missing or invalid. */
export function prepareCall(call: EndpointCall): PreparedCall {
  const { endpoint, parameters, project } = call
  const { definition, compiled } = endpoint
  const format = formatOf(definition, call.format)
  const values = compiled.check(parameters)
  const sql = definition.sandbox && Object.hasOwn(parameters, 'sql') ? parameters.sql : undefined
  const key = cacheKey({
    endpointId: definition.id,
    tag: resultTag(endpoint),
    tenant: project ?? null,
    parameters: sql === undefined ? values : { ...values, sql },
    format: format.id,
  })
  return Object.freeze({ ...call, format, values, sql, key })
}

/** Engine crashes tolerated a day: of a caller's SQL, of a sandbox endpoint, and of a saved query. */
const tolerated = { callerSql: 1, sandbox: 20, saved: 3 }

/** Who is refused for a while after a crash. No token alone can close a sandbox for the others. */
export function blameFor({ endpoint, sql, project, caller }: PreparedCall): readonly Blame[] {
  const { id } = endpoint.definition
  if (sql === undefined) return callerBlame(caller, project, ` endpoint:${id}`, tolerated.saved)
  const sandbox = { key: `sandbox:${id}`, crashes: tolerated.sandbox }
  if (caller === refresher.caller || caller === follower.caller) return [sandbox]
  return [...callerBlame(caller, project, '', tolerated.callerSql), sandbox]
}

/** Enough to repeat a call after a restart. */
export const recipeShape = z.object({
  endpoint: z.string(),
  version: z.int(),
  /** Changes with the result of the endpoint. */
  tag: z.string(),
  parameters: z.record(z.string(), z.string()),
  project: z.string().optional(),
  format: z.string(),
})

export function recipeOf({ endpoint, parameters, format, project }: EndpointCall) {
  const { definition, version } = endpoint
  // Parameters that the endpoint does not know must not take up memory of the cache.
  const names = parameterNames(endpoint)
  return {
    endpoint: definition.id,
    version,
    tag: resultTag(endpoint),
    parameters: Object.fromEntries(Object.entries(parameters).filter(([name]) => names.has(name))),
    ...(project !== undefined && { project }),
    format: format.id,
  } satisfies z.output<typeof recipeShape>
}

/** Throws if a parameter is unknown, as for a strict endpoint. */
export function refuseUnknown(endpoint: Endpoint, parameters: object, ...added: string[]): void {
  const known = new Set([...parameterNames(endpoint), ...added])
  const unknown = Object.keys(parameters).find((name) => !known.has(name))
  if (unknown === undefined) return
  throw unknownParameter(unknown, known, ` ${endpoint.definition.name} does not have it.`)
}

/** Parameters that an endpoint declares, or that its SQL uses. */
export function parameterNames({ definition, compiled }: Endpoint): Set<string> {
  const names = new Set([...Object.keys(definition.parameters), ...compiled.names])
  return definition.sandbox ? names.add('sql') : names
}
