export type Kind = 'query' | 'ingest' | 'both' | 'admin'

export const kinds: readonly (readonly [Kind, string])[] = [
  ['query', 'Query endpoints'],
  ['ingest', 'Send logs'],
  ['both', 'Query endpoints and send logs'],
  ['admin', 'Everything (admin)'],
]

/** The scopes of a token as the form shows them. */
export interface Permissions {
  kind: Kind
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
  const can = (scope: 'query' | 'ingest') => scopes.includes(scope) || names(scope).length > 0
  const kind = scopes.includes('admin')
    ? 'admin'
    : can('query') && can('ingest')
      ? 'both'
      : can('ingest')
        ? 'ingest'
        : 'query'
  return { kind, endpoints: names('query'), sources: names('ingest') }
}

export function writeScopes({ kind, endpoints, sources }: Permissions): string[] {
  const scopes = (scope: 'query' | 'ingest', names: readonly string[]) =>
    names.length === 0 ? [scope] : names.map((name) => `${scope}:${name}`)
  if (kind === 'admin') return ['admin']
  return [
    ...(kind === 'ingest' ? [] : scopes('query', endpoints)),
    ...(kind === 'query' ? [] : scopes('ingest', sources)),
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

import { counted } from '../ui/format.ts'
