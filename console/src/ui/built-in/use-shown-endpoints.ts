import { useQueries } from '@tanstack/react-query'
import { api, at } from '../../api/api.ts'
import type { CallableEndpoint, Entry, Whoami } from '../../api/shapes.ts'
import { builtInEndpoints } from './built-in.ts'

const longestRetentionMs = 90 * 86_400_000

/** The endpoints of a customer, without built-in ones that have no data of its project. Undefined until that is known. */
export function useShownEndpoints({
  admin,
  logs,
  project,
  endpoints,
}: Whoami): CallableEndpoint[] | undefined {
  const isKnown = !admin && logs && project !== null
  const sources = isKnown ? [...new Set(endpoints.flatMap(({ id }) => builtInEndpoints.get(id) ?? []))] : []
  const found = useQueries({
    queries: sources.map((source) => ({
      queryKey: ['has-entries', source],
      queryFn: ({ signal }: { signal: AbortSignal }) => {
        const body = { from: new Date(Date.now() - longestRetentionMs).toISOString(), limit: 1 }
        return api<Entry[]>(`/api/sources/${at(source)}/search`, { body, signal })
      },
      staleTime: 60_000,
    })),
  })
  if (found.some(({ isPending }) => isPending)) return undefined
  const empty = new Set(sources.filter((_, index) => found[index]?.data?.length === 0))
  return endpoints.filter(({ id }) => !empty.has(builtInEndpoints.get(id) ?? ''))
}
