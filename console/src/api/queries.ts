import { keepPreviousData, QueryClient, type QueryKey, queryOptions } from '@tanstack/react-query'
import { beginningOfTime } from '../../../src/shared/timestamps.ts'
import { ApiError, api, at, OfflineError } from './api.ts'
import { connection } from './connection.ts'
import { hasFeature } from './features.ts'
import type {
  Alert,
  AlertGroup,
  AppliedRule,
  AuditEntry,
  Cache,
  Dashboard,
  DashboardLink,
  Endpoint,
  EndpointCacheState,
  Entry,
  Erasure,
  JsonPath,
  ListColumns,
  LookupTable,
  Person,
  Plan,
  Project,
  ProjectUsage,
  Requests,
  SavedSearch,
  SlowRequest,
  Source,
  SourcePath,
  Status,
  TableRows,
  Token,
  Usage,
  ValueCount,
  Whoami,
} from './shapes.ts'

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      networkMode: 'always',
      staleTime: 5_000,
      // Other errors do not go away by trying again. A service that starts is waited for, however long it takes.
      retry: (failures, error) =>
        (failures < 3 || !connection.isUp()) &&
        (error instanceof OfflineError || (error instanceof ApiError && error.status === 503)),
      retryDelay: 1_000,
    },
    mutations: { networkMode: 'always' },
  },
})

/** Marks everything whose key begins with one of these as out of date. */
export function invalidate(...keys: string[]): void {
  for (const key of keys) queryClient.invalidateQueries({ queryKey: [key] })
}

/** Sources of the service itself. */
const serviceSources = ['audit_events', 'alert_events', 'endpoint_requests', 'quarantine']

interface ReadOptions {
  staleTime?: number
  refetchInterval?: number
  refetchOnWindowFocus?: boolean
  enabled?: boolean
}

function read<T>(queryKey: QueryKey, path: string, options: ReadOptions = {}) {
  return queryOptions({ queryKey, queryFn: ({ signal }) => api<T>(path, { signal }), ...options })
}

export const queries = {
  whoami: () => read<Whoami>(['whoami'], '/api/whoami', { staleTime: 60_000 }),
  status: () => read<Status>(['status'], '/api/status', { refetchInterval: 5_000 }),
  usage: (interval: '1hr' | '1day' | '7day' = '1hr') =>
    queryOptions({
      ...read<Usage>(['usage', interval], `/api/usage?interval=${interval}`, { refetchInterval: 5_000 }),
      placeholderData: keepPreviousData,
    }),
  endpoints: () => read<Endpoint[]>(['endpoints'], '/api/endpoints'),
  // The text must not change while it is being edited.
  endpoint: (name: string) =>
    read<Endpoint>(['endpoints', name], `/api/endpoints/${at(name)}`, { refetchOnWindowFocus: false }),
  /** Versions of a definition, newest first. */
  versions: <T>(kind: string, { name, version }: { name: string; version: number }) =>
    queryOptions({
      ...read<T[]>([kind, name, 'versions', version], `/api/${kind}/${at(name)}/versions`),
      placeholderData: keepPreviousData,
    }),
  jsonPaths: (name: string, version: number) =>
    read<JsonPath[]>(['json-paths', name, version], `/api/endpoints/${at(name)}/paths`, {
      staleTime: 60_000,
    }),
  /** For one endpoint, or for all. */
  slowCalls: (name?: string) => {
    const path = name === undefined ? '/api/slow' : `/api/endpoints/${at(name)}/slow`
    return read<SlowRequest[]>(['slow-calls', name], path, { refetchInterval: 10_000 })
  },
  cache: () => read<Cache>(['cache'], '/api/cache', { refetchInterval: 10_000 }),
  sources: () => read<Source[]>(['sources'], '/api/sources', { staleTime: 30_000 }),
  source: (name: string) =>
    read<Source>(['sources', name], `/api/sources/${at(name)}`, { staleTime: 30_000 }),
  recent: (source: string, limit: number) =>
    read<Entry[]>(['sources', source, 'recent', limit], `/api/sources/${at(source)}/recent?limit=${limit}`),
  /** With the number of entries of each. */
  sourceRules: (name: string) =>
    read<AppliedRule[]>(['sources', name, 'rules'], `/api/sources/${at(name)}/rules`, {
      refetchInterval: 10_000,
    }),
  /** Number of entries that no tenant can see. */
  withoutProject: (name: string) =>
    queryOptions({
      queryKey: ['usage', name, 'without-project'],
      queryFn: async ({ signal }) => {
        const query = `SELECT count() AS n FROM ${name} WHERE project = ''`
        const { result } = await api<{ result: { n: number }[] }>('/api/sql', { body: { query }, signal })
        return result[0]?.n ?? 0
      },
      refetchInterval: 60_000,
    }),
  schema: (name: string) =>
    queryOptions({
      ...read<SourcePath[]>(['sources', name, 'schema'], `/api/sources/${at(name)}/schema`),
      staleTime: 300_000,
      refetchInterval: ({ state }) =>
        state.data?.some(({ filled }) => filled !== null && filled < 1) ? 2_000 : false,
    }),
  /** The most frequent values of the last week. */
  values: (source: string, path: string) =>
    queryOptions({
      queryKey: ['sources', source, 'values', path],
      queryFn: ({ signal }) => {
        const from = new Date(Date.now() - 7 * 86_400_000).toISOString()
        return api<ValueCount[]>(`/api/sources/${at(source)}/values`, { body: { path, from }, signal })
      },
      staleTime: 300_000,
    }),
  listColumns: (source: string) =>
    read<ListColumns>(['list-columns', source], `/api/sources/${at(source)}/list-columns`, {
      staleTime: 60_000,
    }),
  tables: () =>
    read<LookupTable[]>(['tables'], '/api/tables', { staleTime: 30_000, enabled: hasFeature('tables') }),
  table: (name: string) => read<LookupTable>(['tables', name], `/api/tables/${at(name)}`),
  /** The first rows. */
  tableRows: (name: string) => read<TableRows>(['tables', name, 'rows'], `/api/tables/${at(name)}/rows`),
  dashboards: () => read<Dashboard[]>(['dashboards'], '/api/dashboards'),
  dashboard: (name: string) =>
    read<Dashboard>(['dashboards', name], `/api/dashboards/${at(name)}`, { refetchOnWindowFocus: false }),
  dashboardLinks: (name: string) =>
    read<DashboardLink[]>(['dashboard-links', name], `/api/dashboards/${at(name)}/links`),
  alerts: () => read<Alert[]>(['alerts'], '/api/alerts', { refetchInterval: 10_000 }),
  alert: (name: string) =>
    read<Alert>(['alerts', name], `/api/alerts/${at(name)}`, { refetchInterval: 5_000 }),
  alertGroups: (name: string) =>
    queryOptions({
      queryKey: ['alerts', name, 'groups'],
      queryFn: ({ signal }) => api<AlertGroup[]>(`/api/alerts/${at(name)}/groups`, { signal }),
      refetchInterval: 5_000,
    }),
  /** What happened to an alert, newest first. */
  alertEvents: (id: string) =>
    queryOptions({
      queryKey: ['alerts', id, 'events'],
      queryFn: ({ signal }) =>
        api<Entry[]>('/api/sources/alert_events/search', {
          body: { query: `alert_id:"${id}"`, from: beginningOfTime, limit: 200 },
          signal,
        }),
      refetchInterval: 10_000,
    }),
  audit: (query: string) =>
    queryOptions({
      queryKey: ['audit', query],
      queryFn: ({ signal }) => {
        const body = { query, limit: 200, from: beginningOfTime }
        return api<AuditEntry[]>('/api/sources/audit_events/search', { body, signal })
      },
      placeholderData: keepPreviousData,
      refetchInterval: 10_000,
    }),
  /** Versions of a definition whose name may have changed. */
  versionsById: (folder: string, id: string) =>
    read<{ version: number }[]>([folder, id, 'versions'], `/api/${folder}/${at(id)}/versions`),
  people: () => read<Person[]>(['people'], '/api/people', { refetchInterval: 10_000 }),
  plans: () => read<Plan[]>(['plans'], '/api/plans'),
  /** Those with most entries in the last 30 days. */
  projects: () => read<Project[]>(['projects'], '/api/projects?limit=500', { refetchInterval: 10_000 }),
  project: (name: string) =>
    read<Project>(['projects', name], `/api/projects/${at(name)}`, { refetchInterval: 10_000 }),
  erasures: () => read<Erasure[]>(['erasures', 'list'], '/api/erasures', { refetchInterval: 10_000 }),
  /** The newest entries of a project in any of these sources, with one query. */
  newestOfProject: (project: string, sources: readonly string[]) =>
    queryOptions({
      queryKey: ['projects', project, 'newest', sources],
      queryFn: async ({ signal }) => {
        const own = sources.filter((source) => !serviceSources.includes(source))
        if (own.length === 0) return []
        const newestOf = (source: string) =>
          `(SELECT '${source}' AS source, id, timestamp, leftUTF8(event_message, 300) AS event_message FROM ${source} ` +
          `WHERE project = @project AND timestamp > @now - INTERVAL 7 DAY ORDER BY timestamp DESC LIMIT 10)`
        const query = `SELECT * FROM (${own.map(newestOf).join(' UNION ALL ')}) ORDER BY timestamp DESC LIMIT 10`
        type Newest = { source: string; id: string; timestamp: string; event_message: string }
        const body = { query, parameters: { project } }
        return (await api<{ result: Newest[] }>('/api/sql', { body, signal })).result
      },
      staleTime: 10_000,
    }),
  /** By day, oldest first. */
  projectUsage: (project: string) =>
    read<ProjectUsage[]>(['project-usage', project], `/api/project-usage?project=${at(project)}`, {
      staleTime: 60_000,
    }),
  tokens: () => read<Token[]>(['tokens'], '/api/access-tokens'),
  token: (id: string) => read<Token>(['tokens', id], `/api/access-tokens/${at(id)}`),
  /** For all endpoints or one, and all tokens or one. Null where the service records no statistics. */
  requests: (interval: string, endpoint?: string, token?: string) =>
    queryOptions({
      queryKey: ['requests', interval, endpoint, token],
      queryFn: ({ signal }) => {
        const wanted = new URLSearchParams({
          interval,
          ...(endpoint !== undefined && { endpoint }),
          ...(token !== undefined && { token }),
        })
        return unlessOff(api<Requests>(`/api/requests?${wanted}`, { signal }))
      },
      refetchInterval: 10_000,
      placeholderData: keepPreviousData,
    }),
  endpointCache: (name: string) =>
    read<EndpointCacheState>(['endpoints', name, 'cache'], `/api/endpoints/${at(name)}/cache`, {
      refetchInterval: 5_000,
    }),
  searches: () => read<SavedSearch[]>(['searches'], '/api/searches'),
}

async function unlessOff<T>(response: Promise<T>): Promise<T | null> {
  try {
    return await response
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null
    throw error
  }
}
