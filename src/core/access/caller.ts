import { pageScope } from '../../shared/scopes.ts'
import { forbidden } from '../base/errors.ts'
import { mayRead } from '../definitions/visibility.ts'
import type { RequestLimit } from './request-quota.ts'

export type Caller = Readonly<ReturnType<typeof callerWith>>

/** Each can do what those after it can do. */
export const roles = ['admin', 'editor', 'viewer'] as const
export type Role = (typeof roles)[number]
export const scopeOfRole = { admin: 'admin', editor: 'edit', viewer: 'read' } as const

/** Whether the scopes include one that shows every project and definition, so that no project can limit it. */
export function hasRole(scopes: readonly string[]): boolean {
  return scopes.some((scope) => covers(scope, 'read'))
}

/** Whether a scope allows everything that another allows. */
export function covers(granted: string, scope: string): boolean {
  return (
    granted === 'admin' ||
    granted === scope ||
    scope.startsWith(`${granted}:`) ||
    (granted === 'deploy' && covers('edit', scope)) ||
    (granted === 'edit' && covers('read', scope)) ||
    (granted === 'read' &&
      (scope.startsWith(`${pageScope}:`) || covers('search', scope) || covers('query', scope)))
  )
}

export interface Rights {
  scopes: readonly string[]
  project: string | null
  parameters: Readonly<Record<string, string>>
}

/** What follows from the plan of a project. */
export interface PlanLimits {
  retentionDays: number | undefined
  requestsPerMinute: number | undefined
  /** Parameters that all tokens of the project have. Those of a token go before them. */
  parameters: Readonly<Record<string, string>>
}

interface Identity extends Rights {
  id: string
  tag?: string
  isSession?: boolean
  mayQueryGateway?: boolean
  plan?: PlanLimits | undefined
}

/** The only place that decides what a token or a session is allowed to do. */
export function callerWith(identity: Identity) {
  const { id, tag = id, isSession = false, mayQueryGateway = false, plan } = identity
  const { scopes, project, parameters } = identity
  const allows = (scope: string) => scopes.some((granted) => covers(granted, scope))
  const own = Object.entries(parameters)
  const plain = own.filter(([name]) => !name.startsWith('@'))
  const role = roles.find((one) => allows(scopeOfRole[one]))
  const isAdmin = role === 'admin'
  const mayAny = (scope: 'query' | 'search' | 'ingest') =>
    allows(scope) || scopes.some((granted) => granted.startsWith(`${scope}:`))
  const maySearch = (source: string) => own.length === 0 && allows(`search:${source}`)
  /** Unpublished endpoints do not exist for callers with a project, nor those that read the audit for others than admins. */
  const maySee = (endpoint: { published: boolean; query: string }) =>
    (endpoint.published || project === null) && mayRead({ isAdmin }, endpoint)
  return {
    /** Id of the token; a session has that of its token. */
    id,
    /** The same only for callers with the same rights. Changes with the token. */
    tag,
    isSession,
    isAdmin,
    /** Undefined for tokens that only call endpoints, read entries or send them. */
    role,
    /** Whether the caller may create and change sources. */
    mayDeploy: allows('deploy'),
    /** Whether the caller may query the Logflare gateway. It is not a scope, so sessions cannot inherit it. */
    mayQueryGateway,
    /**
     * Whether the caller may read whole entries of any source: of its project, or of all projects without one. Only the SQL of
     * endpoints enforces other fixed parameters, such as how far back a customer reads, so callers with such parameters may not.
     */
    mayReadEntries: own.length === 0 && mayAny('search'),
    /** Whether its scopes include the entries of a source of this name. Takes the source's name, not an alias. */
    maySearch,
    /** Unpublished sources do not exist for callers with a project. */
    mayReadSource: (source: { name: string; published: boolean }) =>
      maySearch(source.name) &&
      (source.published || project === null) &&
      mayRead({ isAdmin }, { source: source.name }),
    /** The only project whose entries the caller reads and sends; undefined for all projects. */
    project: project ?? undefined,
    /** How far back the plan of the project lets the caller see. Undefined: all entries that are stored. */
    retentionDays: plan?.retentionDays,
    parameters: Object.freeze<Record<string, string>>({
      ...plan?.parameters,
      ...Object.fromEntries(plain),
      ...(project !== null && { project }),
    }),
    /** Whether the caller has this scope for any endpoint or source. */
    mayAny,
    /** Whether its scopes include an endpoint of this name. `mayCall` decides about endpoints that exist. */
    mayQuery: (endpoint: string) => allows(`query:${endpoint}`),
    maySee,
    mayCall: (endpoint: { name: string; published: boolean; query: string }) =>
      maySee(endpoint) && allows(`query:${endpoint.name}`),
    /** Names or ids of the pages whose endpoints it may call as they do. */
    pages: scopes
      .filter((scope) => scope.startsWith(`${pageScope}:`))
      .map((scope) => scope.slice(pageScope.length + 1)),
    /** Parameters of these pages that a link fixes. */
    pageParameters: Object.fromEntries(
      own.filter((each) => !plain.includes(each)).map(([name, value]) => [name.slice(1), value]),
    ),
    /** Takes the source's name, not an alias. */
    mayIngest: (source: string) => allows(`ingest:${source}`),
  }
}

/** The parameters with the token's fixed values. Other values for fixed parameters are refused. */
export function withFixedParameters(
  caller: Caller,
  sent: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const names = Object.keys(caller.parameters)
  if (names.length === 0) return sent
  for (const name of names) {
    if (Object.hasOwn(sent, name) && sent[name] !== caller.parameters[name]) {
      throw forbidden(
        `This token is limited to ${name} ${caller.parameters[name]}; omit the ${name} parameter.`,
      )
    }
  }
  return Object.assign(Object.create(null) as Record<string, string>, sent, caller.parameters)
}

/** A credential that was recognized, and what it is limited to. */
export interface RecognizedToken {
  readonly caller: Caller
  readonly limits: readonly RequestLimit[]
}

/** What any credential gives: a secret of a token, a session, or the cookie of a browser. */
export interface Key extends RecognizedToken {
  /** The hash of the secret; a session has that of its token. */
  readonly hash: Buffer
  readonly rights: Rights
  /** A clock that is set back must not prolong a session beyond the longest one. */
  readonly validFromMs: number
  readonly validUntilMs: number
  /** When the token or person ends; a session may end earlier. */
  readonly ownerUntilMs: number
  /** What a cookie says of itself. */
  readonly cookie?: { readonly id: string; readonly signedInMs: number }
  /** Id of the cookie that it is or was created with, and ends with. */
  readonly signIn?: string | undefined
}

export function isValid({ validFromMs, validUntilMs }: Key, nowMs: number): boolean {
  return nowMs >= validFromMs && nowMs < validUntilMs
}

/** The only project whose entries the caller may read now; undefined for all. Throws 403 for a project of others. */
export function readableProject(caller: Caller, wanted: unknown): string | undefined {
  return withFixedParameters(caller, typeof wanted === 'string' ? { project: wanted } : {}).project
}
