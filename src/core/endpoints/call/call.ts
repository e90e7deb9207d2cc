import { hash } from 'node:crypto'
import { z } from 'zod'
import { unknownParameter } from '../../base/errors.ts'
import type { Cacheable } from '../../cache/cacheable.ts'
import { callerBlame, statementBlame } from '../../engine/embedded/running-queries.ts'
import type { Blame } from '../../engine/engine.ts'
import type { TimeRange } from '../../sql/isolation.ts'
import type { Endpoint } from '../definition/endpoint.ts'
import type { BoundValues } from '../definition/parameters.ts'
import { formatOf, type OutputFormat } from './output-formats.ts'

/** `own`: a run of a feature, in the background. */
export type RunPurpose = 'call' | 'refresh' | 'follow' | 'preview' | 'own'

/** A call that is ready to run: everything that its result depends on is checked and bound. */
export interface Call extends Cacheable {
  readonly endpoint: Endpoint
  /** As sent. */
  readonly parameters: Readonly<Record<string, string>>
  readonly values: BoundValues
  /** The caller's SQL, if the endpoint is a sandbox. */
  readonly sql: string | undefined
  readonly format: OutputFormat
  /** The query sees only rows of this project. */
  readonly project: string | undefined
  /** Whether it must learn nothing of rows that it does not see: it is of a tenant, or has SQL of the caller. */
  readonly isolated: boolean
  /** Of the project's plan: the query sees no older rows. Undefined: all rows that are stored. */
  readonly retentionDays: number | undefined
  /** Callers get equal shares of the engine. */
  readonly caller: string
  /** Whether many people use the caller's token, so that one of them must not be refused for the SQL of another. */
  readonly isSharedToken?: boolean | undefined
  readonly purpose: RunPurpose
  /** Name of the run in metrics. By default, its purpose. */
  readonly metricLabel?: string | undefined
  /** Who is refused after the run crashed the engine. By default, callers of the endpoint. */
  readonly blame?: readonly Blame[] | undefined
  readonly engineTime?: EngineTime | undefined
  /** Value of `@now`. Undefined: the time of the run. */
  readonly nowMicros?: bigint | undefined
  /** Undefined: all entries. */
  readonly range?: TimeRange | undefined
}

/** A call as it was requested. Its purpose is 'call' by default. */
export type CallRequest = Pick<
  Call,
  'endpoint' | 'parameters' | 'format' | 'project' | 'retentionDays' | 'caller'
> /** Parameters that the caller's token fixes, with their values. */ & {
  fixed?: Readonly<Record<string, string>>
} & Partial<
    Pick<
      Call,
      | 'isSharedToken'
      | 'signal'
      | 'directives'
      | 'trace'
      | 'purpose'
      | 'metricLabel'
      | 'blame'
      | 'engineTime'
      | 'nowMicros'
      | 'range'
    >
  >

/** Refreshes share one line in the queue of queries, and so do runs for those who follow a result. */
const refresher = { caller: 'wellhead:warming', purpose: 'refresh' } as const
const follower = { caller: 'wellhead:following', purpose: 'follow' } as const

/** Throws if a parameter is missing or invalid. */
export function callOf(request: CallRequest): Call {
  const { endpoint, parameters, project, retentionDays } = request
  const { definition, compiled } = endpoint
  const { id, cache_seconds: cacheSeconds, warm_seconds: warmSeconds } = definition
  const format = formatOf(definition, request.format)
  const values = compiled.check(parameters, request.fixed)
  const sql = definition.sandbox && Object.hasOwn(parameters, 'sql') ? parameters.sql : undefined
  const key = cacheKey({
    endpointId: id,
    tag: resultTag(endpoint),
    tenant: project ?? null,
    retentionDays: retentionDays ?? null,
    parameters: sql === undefined ? values : { ...values, sql },
    format: format.id,
  })
  return Object.freeze({
    purpose: 'call',
    ...request,
    format,
    values,
    sql,
    isolated: project !== undefined || sql !== undefined,
    key,
    group: id,
    sources: sourcesOf(endpoint),
    policy: { cacheSeconds: cacheSeconds ?? 0, warmSeconds },
  })
}

/** A run on behalf of others is not part of the first caller's trace and times. */
export function onBehalfOfAll(
  call: Call,
  purpose: 'refresh' | 'follow',
  signal: AbortSignal | undefined,
): Call {
  const requester = purpose === 'refresh' ? refresher : follower
  return { ...call, ...requester, signal, trace: undefined, engineTime: undefined }
}

/** Whether nobody has seen yet how large the result of the SQL is. */
export function isUnseen({ sql, purpose }: Pick<Call, 'sql' | 'purpose'>): boolean {
  return sql !== undefined || purpose === 'preview'
}

/** Engine crashes tolerated a day: of a caller's SQL, of a sandbox endpoint, of a saved query, and of a caller's drafts. */
const tolerated = { callerSql: 1, sandbox: 20, saved: 3, drafts: 3 }

/** Who is refused for a while after a crash. No token alone can close a sandbox for the others. */
export function blameFor(call: Call): readonly Blame[] {
  const { endpoint, sql, project, caller, purpose, isSharedToken, blame } = call
  if (blame) return blame
  const { id } = endpoint.definition
  if (purpose === 'preview') return callerBlame(caller, undefined, ' draft', tolerated.drafts)
  if (sql === undefined) return callerBlame(caller, project, ` endpoint:${id}`, tolerated.saved)
  const sandbox = { key: `sandbox:${id}`, crashes: tolerated.sandbox }
  if (caller === refresher.caller || caller === follower.caller) return [sandbox]
  if (isSharedToken) return [statementBlame(caller, project, sql, tolerated.callerSql), sandbox]
  return [...callerBlame(caller, project, '', tolerated.callerSql), sandbox]
}

const tags = new WeakMap<object, string>()

/** The same for versions of an endpoint that return and cache the same. Columns count, because sources can change. */
export function resultTag({ definition, columns, compiled }: Omit<Endpoint, 'version'>): string {
  // What is compiled changes with the endpoints that it reads, and the definition does not.
  const known = tags.get(compiled)
  if (known !== undefined) return known
  const unseen = { name: undefined, description: undefined, chart: undefined, published: undefined }
  const inner = [...compiled.inner.values()].map(({ query, parameters }) => [query, parameters])
  const parts = [{ ...definition, ...unseen }, columns, ...(inner.length > 0 ? [inner] : [])]
  const tag = hash('sha256', JSON.stringify(parts), 'hex')
  tags.set(compiled, tag)
  return tag
}

export interface CacheKeyParts {
  endpointId: string
  tag: string
  /** The project of a tenant's token; null for a token without one. */
  tenant: string | null
  /** Of the plan of a project, which may see no older rows; null: no limit. */
  retentionDays: number | null
  /** As bound, with defaults and fixed values, without the time of the request. */
  parameters: Readonly<Record<string, unknown>>
  format: string
}

/** The SHA-256 of everything that a result depends on; values that are not text carry their type, so that null and 'null' differ. */
export function cacheKey(parts: CacheKeyParts): string {
  const { endpointId, tag, tenant, retentionDays, parameters, format } = parts
  const values: unknown[] = []
  for (const name of Object.keys(parameters).sort()) {
    const value = parameters[name]
    values.push(
      name,
      typeof value === 'string'
        ? value
        : [typeof value, Array.isArray(value) ? JSON.stringify(value) : String(value)],
    )
  }
  return hash('sha256', JSON.stringify([endpointId, tag, tenant, retentionDays, values, format]), 'hex')
}

/** Sources that a call may read. A caller's SQL can use views that the endpoint's own SELECT does not. */
function sourcesOf({ definition, compiled }: Endpoint): ReadonlySet<string> {
  return definition.sandbox ? compiled.viewSources : compiled.possibleSources
}

/** How long the engine worked for a call. */
export class EngineTime {
  readonly #monotonicMs: () => number
  #sinceMs: number | undefined
  #beforeMs = 0

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs
  }

  get ms(): number {
    return this.#beforeMs + (this.#sinceMs === undefined ? 0 : this.#monotonicMs() - this.#sinceMs)
  }

  begin(): void {
    this.#sinceMs = this.#monotonicMs()
  }

  end(): void {
    this.#beforeMs = this.ms
    this.#sinceMs = undefined
  }
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

export function recipeOf({ endpoint, parameters, format, project }: Call) {
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
