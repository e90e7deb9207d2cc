import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import {
  countEntries,
  countFacets,
  type EntryFilter,
  entriesAround,
  entriesOfTrace,
  type FoundPage,
  type LinkedEntry,
  searchPage,
} from '../api/entry-search.ts'

const pageSize = 200
const facetsEveryMs = 15_000

export interface EntrySearch extends EntryFilter {
  fromMs: number
  toMs: number
  /** Shows the entries around this one instead. */
  around: LinkedEntry | undefined
  /** Shows the entries of all sources with this trace or request id instead. */
  trace: string | undefined
  /** The same search at a later time is another search. */
  requestedMs: number
}

const options = {
  placeholderData: keepPreviousData,
  refetchOnWindowFocus: false,
  staleTime: Infinity,
  gcTime: 30_000,
} as const

export function useEntries(search: EntrySearch, enabled: boolean) {
  const { source, fromMs, toMs, around, trace } = search
  return useInfiniteQuery({
    ...options,
    queryKey: ['entries', search],
    queryFn: async ({ pageParam, signal }): Promise<FoundPage> => {
      if (trace !== undefined) return { entries: await entriesOfTrace(search, trace, signal) }
      if (around) return { entries: await entriesAround(source, around, signal) }
      return searchPage(search, { fromMs, toMs, limit: pageSize, next: pageParam }, signal)
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
    enabled,
  })
}

export function useHistogram(search: EntrySearch, by: string | undefined, enabled: boolean) {
  return useQuery({
    ...options,
    queryKey: ['histogram', search, by],
    queryFn: ({ signal }) => countEntries(search, { ...search, by }, signal),
    enabled: enabled && search.trace === undefined,
  })
}

/** While the view is live, the range has no end. */
export function useFacets(search: EntrySearch, live: boolean, columns: number, enabled: boolean) {
  const { fromMs, toMs } = search
  return useQuery({
    ...options,
    // A new typed column is a facet of another kind.
    queryKey: ['facets', search, live, columns],
    queryFn: ({ signal }) => countFacets(search, { fromMs, toMs: live ? undefined : toMs }, signal),
    refetchInterval: live && facetsEveryMs,
    enabled,
  })
}
