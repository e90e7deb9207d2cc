import { counted } from '../ui/text/format.ts'
import { showDay, type Zone } from '../ui/text/instants.ts'

type Kind = 'query' | 'search' | 'ingest' | 'read' | 'edit' | 'deploy' | 'admin'

/** Kinds of permissions, in the order of the form and of the scopes. */
export const kinds: readonly (readonly [Kind, name: string, note: string])[] = [
  ['query', 'Query endpoints', 'Gets the columns that endpoints return, and nothing else.'],
  [
    'search',
    'Read log entries',
    'Searches, counts and follows whole entries with all their metadata: in the console, in the API, and as tools of agents. ' +
      'With a project, those of published sources. Not for tokens with fixed parameters.',
  ],
  ['ingest', 'Send logs', 'Does not read anything.'],
  [
    'read',
    'Read everything (viewer)',
    'Definitions, entries and statistics of all projects. Not with a project.',
  ],
  [
    'edit',
    'Edit (editor)',
    'Also changes endpoints, alerts, dashboards and saved searches, and deploys them. Not with a project.',
  ],
  [
    'deploy',
    'Deploy (for CI)',
    'Also creates and changes sources, but never tokens, people or settings. Not with a project.',
  ],
  ['admin', 'Everything (admin)', 'Also manages tokens and people, deletes sources, and takes backups.'],
]

/** The scopes of a token as the form shows them. */
export interface Permissions extends Record<Kind, boolean> {
  /** Empty: all endpoints. */
  endpoints: readonly string[]
  /** Sources to send to. Empty: all sources. */
  sources: readonly string[]
  /** Sources whose entries it reads. Empty: all sources. */
  searched: readonly string[]
  /** Scopes that the form does not show, such as those of dashboards. */
  others: readonly string[]
}

/** Whether a role is among them. A role cannot be limited to a project. */
export const hasRole = ({ admin, deploy, edit, read }: Record<Kind, boolean>): boolean =>
  admin || deploy || edit || read

export function readScopes(scopes: readonly string[]): Permissions {
  const namesOf = (kind: 'query' | 'search' | 'ingest') =>
    scopes.filter((scope) => scope.startsWith(`${kind}:`)).map((scope) => scope.slice(kind.length + 1))
  const named = { query: namesOf('query'), search: namesOf('search'), ingest: namesOf('ingest') }
  const isShown = (scope: string) =>
    kinds.some(([kind]) => scope === kind) || /^(?:query|search|ingest):/.test(scope)
  return {
    ...(Object.fromEntries(kinds.map(([kind]) => [kind, scopes.includes(kind)])) as Record<Kind, boolean>),
    query: scopes.includes('query') || named.query.length > 0,
    search: scopes.includes('search') || named.search.length > 0,
    ingest: scopes.includes('ingest') || named.ingest.length > 0,
    endpoints: scopes.includes('query') ? [] : named.query,
    sources: scopes.includes('ingest') ? [] : named.ingest,
    searched: scopes.includes('search') ? [] : named.search,
    others: scopes.filter((scope) => !isShown(scope)),
  }
}

export function writeScopes(permissions: Permissions): string[] {
  if (permissions.admin) return ['admin']
  const names: Partial<Record<Kind, readonly string[]>> = {
    query: permissions.endpoints,
    search: permissions.searched,
    ingest: permissions.sources,
  }
  const scopesOf = (kind: Kind) =>
    names[kind]?.length ? names[kind].map((name) => `${kind}:${name}`) : [kind]
  const shown = kinds.flatMap(([kind]) => (permissions[kind] ? scopesOf(kind) : []))
  return [...shown, ...permissions.others]
}

interface Limits {
  project: string | null
  parameters: Readonly<Record<string, string>>
  requests_per_minute: number | null
  expires_at: string | null
}

/** In words, for lists. */
export function restrictionsOf(limits: Limits, zone: Zone): string[] {
  const { project, parameters, requests_per_minute, expires_at } = limits
  return [
    ...(project === null ? [] : [`project ${project}`]),
    ...Object.entries(parameters).map(([name, value]) => `${name} ${value}`),
    ...(requests_per_minute === null ? [] : [`${counted(requests_per_minute, 'request')} per minute`]),
    ...(expires_at === null ? [] : [`until ${showDay(expires_at, zone)}`]),
  ]
}

export const isExpired = ({ expires_at }: Pick<Limits, 'expires_at'>, nowMs = Date.now()): boolean =>
  expires_at !== null && Date.parse(expires_at) <= nowMs
