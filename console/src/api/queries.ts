import { QueryClient, queryOptions } from '@tanstack/react-query'
import { ApiError, api, at, OfflineError } from './api.ts'
import type {
  CachedEndpoint,
  Endpoint,
  EndpointStat,
  JsonPath,
  SlowCall,
  Source,
  SourcePath,
  Status,
  Token,
  Usage,
  Whoami,
} from './api-types.ts'

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      networkMode: 'always',
      staleTime: 5_000,
      // What cannot be mended by trying again is told at once.
      retry: (failures, error) =>
        failures < 3 &&
        (error instanceof OfflineError || (error instanceof ApiError && error.status === 503)),
      retryDelay: 1_000,
    },
    mutations: { networkMode: 'always' },
  },
})

/** An endpoint of the service itself, which tells of the calls of all. */
export const statsEndpoint = 'wellhead.endpoint-stats'

const read =
  <T>(path: string) =>
  ({ signal }: { signal: AbortSignal }) =>
    api<T>(path, { signal })

export const queries = {
  whoami: () =>
    queryOptions({ queryKey: ['whoami'], queryFn: read<Whoami>('/api/whoami'), staleTime: 60_000 }),
  status: () =>
    queryOptions({ queryKey: ['status'], queryFn: read<Status>('/api/status'), refetchInterval: 5_000 }),
  usage: () =>
    queryOptions({ queryKey: ['usage'], queryFn: read<Usage>('/api/usage'), refetchInterval: 5_000 }),
  endpoints: () => queryOptions({ queryKey: ['endpoints'], queryFn: read<Endpoint[]>('/api/endpoints') }),
  endpoint: (name: string) =>
    queryOptions({
      queryKey: ['endpoints', name],
      queryFn: read<Endpoint>(`/api/endpoints/${at(name)}`),
      // A text that is being written must not change under the writer.
      refetchOnWindowFocus: false,
    }),
  versions: (name: string) =>
    queryOptions({
      queryKey: ['endpoints', name, 'versions'],
      queryFn: read<Endpoint[]>(`/api/endpoints/${at(name)}/versions`),
    }),
  jsonPaths: (name: string, version: number) =>
    queryOptions({
      queryKey: ['json-paths', name, version],
      queryFn: read<JsonPath[]>(`/api/endpoints/${at(name)}/paths`),
      staleTime: 60_000,
    }),
  slowCalls: (name: string) =>
    queryOptions({
      queryKey: ['slow-calls', name],
      queryFn: read<SlowCall[]>(`/api/endpoints/${at(name)}/slow`),
      refetchInterval: 10_000,
    }),
  cache: () =>
    queryOptions({
      queryKey: ['cache'],
      queryFn: read<{ endpoints: CachedEndpoint[] }>('/api/cache'),
      refetchInterval: 10_000,
    }),
  sources: () =>
    queryOptions({ queryKey: ['sources'], queryFn: read<Source[]>('/api/sources'), staleTime: 30_000 }),
  schema: (name: string) =>
    queryOptions({
      queryKey: ['sources', name, 'schema'],
      queryFn: read<SourcePath[]>(`/api/sources/${at(name)}/schema`),
      staleTime: 300_000,
      refetchInterval: ({ state }) =>
        state.data?.some(({ filled }) => filled !== null && filled < 1) ? 2_000 : false,
    }),
  values: (source: string, path: string, hours = 24) =>
    queryOptions({
      queryKey: ['sources', source, 'values', path, hours],
      queryFn: ({ signal }) =>
        api<{ value: string; count: number }[]>(`/api/sources/${at(source)}/values`, {
          body: { path, from: new Date(Date.now() - hours * 3_600_000).toISOString() },
          signal,
        }),
      staleTime: 300_000,
    }),
  tokens: () => queryOptions({ queryKey: ['tokens'], queryFn: read<Token[]>('/api/access-tokens') }),
  /** Undefined where this service keeps no statistics of calls. */
  stats: (interval: string, endpoint?: string) =>
    queryOptions({
      queryKey: ['stats', interval, endpoint],
      queryFn: async ({ signal }) => {
        const query = new URLSearchParams({ interval, ...(endpoint !== undefined && { endpoint }) })
        const path = `/api/endpoints/query/${statsEndpoint}?${query}`
        try {
          return (await api<{ result: EndpointStat[] }>(path, { signal })).result
        } catch (error) {
          if (error instanceof ApiError && error.status === 404) return null
          throw error
        }
      },
      refetchInterval: 10_000,
    }),
}
