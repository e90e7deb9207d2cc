type Kind = 'query' | 'search' | 'ingest' | 'read' | 'edit' | 'deploy' | 'admin'

/** Kinds of permissions, in the order of the form and of the scopes. */
export const kinds: readonly (readonly [Kind, name: string, note: string])[] = [
  ['query', 'Query endpoints', 'Gets the columns that endpoints return, and nothing else.'],
  [
    'search',
    'Read log entries',
    'Searches, counts and follows whole entries with all their metadata: in the console, in the API, and as tools of agents. ' +
      'Not for tokens with fixed parameters.',
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
  /** Empty: all sources. */
  sources: readonly string[]
}

export function readScopes(scopes: readonly string[]): Permissions {
  const names = (scope: 'query' | 'ingest') =>
    scopes.includes(scope)
      ? []
      : scopes.filter((one) => one.startsWith(`${scope}:`)).map((one) => one.slice(scope.length + 1))
  const [endpoints, sources] = [names('query'), names('ingest')]
  return {
    query: scopes.includes('query') || endpoints.length > 0,
    search: scopes.includes('search'),
    ingest: scopes.includes('ingest') || sources.length > 0,
    read: scopes.includes('read'),
    edit: scopes.includes('edit'),
    deploy: scopes.includes('deploy'),
    admin: scopes.includes('admin'),
    endpoints,
    sources,
  }
}

export function writeScopes(permissions: Permissions): string[] {
  const { query, search, ingest, read, edit, deploy, admin, endpoints, sources } = permissions
  const scopes = (scope: 'query' | 'ingest', names: readonly string[]) =>
    names.length === 0 ? [scope] : names.map((name) => `${scope}:${name}`)
  if (admin) return ['admin']
  return [
    ...(query ? scopes('query', endpoints) : []),
    ...(search ? ['search'] : []),
    ...(ingest ? scopes('ingest', sources) : []),
    ...(read ? ['read'] : []),
    ...(edit ? ['edit'] : []),
    ...(deploy ? ['deploy'] : []),
  ]
}

interface Limits {
  project: string | null
  parameters: Readonly<Record<string, string>>
  requests_per_minute: number | null
  expires_at: string | null
}

/** In words, for lists. */
export function restrictionsOf({ project, parameters, requests_per_minute, expires_at }: Limits): string[] {
  return [
    ...(project === null ? [] : [`project ${project}`]),
    ...Object.entries(parameters).map(([name, value]) => `${name} ${value}`),
    ...(requests_per_minute === null ? [] : [`${counted(requests_per_minute, 'request')} per minute`]),
    ...(expires_at === null ? [] : [`until ${expires_at.slice(0, 10)}`]),
  ]
}

export const isExpired = ({ expires_at }: Pick<Limits, 'expires_at'>, nowMs = Date.now()): boolean =>
  expires_at !== null && Date.parse(expires_at) <= nowMs

import { counted } from '../ui/text/format.ts'
