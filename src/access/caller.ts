import { forbidden } from '../base/errors.ts'

/** Who is calling, and what they may. */
export interface Caller {
  readonly id: string
  readonly isAdmin: boolean
  /** Every row that is read belongs to this project, and so does every entry that is sent. */
  readonly project: string | undefined
  /** Values of parameters that this caller cannot choose. */
  readonly parameters: Readonly<Record<string, string>>
  /** Whether there is anything at all that the caller may ask, or send. */
  mayAny(scope: 'query' | 'ingest'): boolean
  mayQuery(endpoint: string): boolean
  /** By the name of the source, not by one of its aliases. */
  mayIngest(source: string): boolean
}

/** A scope that stands alone, or one that is narrowed to an endpoint or a source: `query:logs.all`. */
export const scopePattern = /^(?:admin|(?:query|ingest)(?::[A-Za-z][A-Za-z0-9._-]{0,127})?)$/

export interface Rights {
  id: string
  scopes: readonly string[]
  project: string | null
  parameters: Readonly<Record<string, string>>
}

export function callerWith({ id, scopes, project, parameters }: Rights): Caller {
  const granted = new Set(scopes)
  const isAdmin = granted.has('admin')
  const may = (scope: 'query' | 'ingest', name: string) =>
    isAdmin || granted.has(scope) || granted.has(`${scope}:${name}`)
  return {
    id,
    isAdmin,
    project: project ?? undefined,
    parameters: Object.freeze({ ...parameters, ...(project !== null && { project }) }),
    mayAny: (scope) =>
      isAdmin || scopes.some((granted) => granted === scope || granted.startsWith(`${scope}:`)),
    mayQuery: (endpoint) => may('query', endpoint),
    mayIngest: (source) => may('ingest', source),
  }
}

/** What the caller sent, with the values that its token fixes. Sent differently, they are refused. */
export function withFixedParameters(
  caller: Caller,
  sent: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const names = Object.keys(caller.parameters)
  if (names.length === 0) return sent
  for (const name of names) {
    if (Object.hasOwn(sent, name) && sent[name] !== caller.parameters[name]) {
      throw forbidden(`This token fixes ${name}; leave it out.`)
    }
  }
  return Object.assign(Object.create(null) as Record<string, string>, sent, caller.parameters)
}
