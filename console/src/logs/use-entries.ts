import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { api, at } from '../api/api.ts'
import type { Entry, Histogram } from '../api/api-types.ts'
import type { ParsedSearch } from './search-query.ts'

const pageSize = 200
export interface EntrySearch extends ParsedSearch {
  source: string
  project: string | undefined
  fromMs: number
  toMs: number
  /** When it was asked for: asked again, it is another search. */
  askedMs: number
}

function bodyOf({ project, fromMs, toMs, text, filters }: EntrySearch) {
  return {
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    text,
    filters,
    ...(project !== undefined && { project }),
  }
}

/** Entries page by page, newest first. */
export function useEntries(search: EntrySearch, enabled: boolean) {
  return useInfiniteQuery({
    queryKey: ['entries', search],
    queryFn: ({ pageParam, signal }) =>
      api<Entry[]>(`/api/sources/${at(search.source)}/search`, {
        body: { ...bodyOf(search), limit: pageSize, ...(pageParam && { before: pageParam }) },
        signal,
      }),
    initialPageParam: undefined as { timestamp: number; id: string } | undefined,
    getNextPageParam: (page) => {
      const last = page.length === pageSize ? page.at(-1) : undefined
      return last && { timestamp: last.timestamp, id: last.id }
    },
    placeholderData: keepPreviousData,
    refetchOnWindowFocus: false,
    staleTime: Infinity,
    gcTime: 30_000,
    enabled,
  })
}

export function useHistogram(search: EntrySearch, enabled: boolean) {
  return useQuery({
    queryKey: ['histogram', search],
    queryFn: ({ signal }) =>
      api<Histogram>(`/api/sources/${at(search.source)}/histogram`, {
        body: { ...bodyOf(search), buckets: 120 },
        signal,
      }),
    placeholderData: keepPreviousData,
    refetchOnWindowFocus: false,
    staleTime: Infinity,
    gcTime: 30_000,
    enabled,
  })
}
