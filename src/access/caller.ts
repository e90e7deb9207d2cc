import { forbidden } from '../base/errors.ts'

export interface Caller {
  /** Id of the token; a session has that of its token. */
  readonly id: string
  /** The same only for callers with the same rights. Changes with the token. */
  readonly tag: string
  readonly isSession: boolean
  readonly isAdmin: boolean
  /** The only project whose entries the caller reads and sends; undefined for all projects. */
  readonly project: string | undefined
  readonly parameters: Readonly<Record<string, string>>
  /** Whether the caller may query the Logflare gateway. It is not a scope, so sessions cannot inherit it. */
  readonly mayQueryGateway: boolean
  /**
   * Whether the caller may read whole entries: of its project, or of all projects without one. Only the SQL of endpoints enforces
   * other fixed parameters, such as how far back a customer reads, so callers with such parameters may not.
   */
  readonly mayReadEntries: boolean
  /** Whether the caller has this scope for any endpoint or source. */
  mayAny(scope: 'query' | 'ingest'): boolean
  /** Whether its scopes include an endpoint of this name. `mayCall` decides about endpoints that exist. */
  mayQuery(endpoint: string): boolean
  /** Unpublished endpoints do not exist for callers with a project. */
  mayCall(endpoint: { name: string; published: boolean }): boolean
  /** Takes the source's name, not an alias. */
  mayIngest(source: string): boolean
}

export const scopeNames = 'admin, query, query:<endpoint>, search, ingest or ingest:<source>'
/** A scope, optionally limited to one endpoint or source: `query:logs.all`. */
export const scopePattern = /^(?:admin|search|(?:query|ingest)(?::[A-Za-z][A-Za-z0-9._-]{0,127})?)$/

export interface Rights {
  scopes: readonly string[]
  project: string | null
  parameters: Readonly<Record<string, string>>
}

interface Identity extends Rights {
  id: string
  tag?: string
  isSession?: boolean
  mayQueryGateway?: boolean
}

/** The only place that decides what a token or a session is allowed to do. */
export function callerWith(identity: Identity): Caller {
  const { id, tag = id, isSession = false, mayQueryGateway = false, scopes, project, parameters } = identity
  const granted = new Set(scopes)
  const isAdmin = granted.has('admin')
  const may = (scope: 'query' | 'ingest', name: string) =>
    isAdmin || granted.has(scope) || granted.has(`${scope}:${name}`)
  return {
    id,
    tag,
    isSession,
    isAdmin,
    mayQueryGateway,
    mayReadEntries: (isAdmin || granted.has('search')) && Object.keys(parameters).length === 0,
    project: project ?? undefined,
    parameters: Object.freeze({ ...parameters, ...(project !== null && { project }) }),
    mayAny: (scope) =>
      isAdmin || scopes.some((granted) => granted === scope || granted.startsWith(`${scope}:`)),
    mayQuery: (endpoint) => may('query', endpoint),
    mayCall: ({ name, published }) => (published || project === null) && may('query', name),
    mayIngest: (source) => may('ingest', source),
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
