import { useQueries } from '@tanstack/react-query'
import { queries } from '../../api/queries.ts'
import type { CallableEndpoint, Whoami } from '../../api/shapes.ts'
import { builtInEndpoints } from './built-in.ts'

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
    queries: sources.map(queries.newestEntry),
  })
  if (found.some(({ isPending }) => isPending)) return undefined
  const empty = new Set(sources.filter((_, index) => found[index]?.data?.length === 0))
  return endpoints.filter(({ id }) => !empty.has(builtInEndpoints.get(id) ?? ''))
}
