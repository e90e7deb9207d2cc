import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { api, at } from '../api/api.ts'
import type { Entry, Histogram } from '../api/shapes.ts'
import type { ParsedSearch } from './search-query.ts'

const pageSize = 200

export interface EntryFilter extends ParsedSearch {
  source: string
  project: string | undefined
}

export interface EntrySearch extends EntryFilter {
  fromMs: number
  toMs: number
  /** The same search at a later time is another search. */
  requestedMs: number
}

interface SearchPage {
  fromMs: number
  toMs?: number
  limit: number
  before?: { timestamp: number; id: string } | undefined
}

function bodyOf({ project, text, filters }: EntryFilter, fromMs: number, toMs?: number) {
  const from = new Date(fromMs).toISOString()
  const to = toMs === undefined ? undefined : new Date(toMs).toISOString()
  return { from, to, text, filters, project }
}

/** One page of entries, newest first. */
export function searchEntries(
  filter: EntryFilter,
  { fromMs, toMs, limit, before }: SearchPage,
  signal: AbortSignal,
  request = api,
): Promise<Entry[]> {
  const body = { ...bodyOf(filter, fromMs, toMs), limit, before }
  return request<Entry[]>(`/api/sources/${at(filter.source)}/search`, { body, signal })
}

const options = {
  placeholderData: keepPreviousData,
  refetchOnWindowFocus: false,
  staleTime: Infinity,
  gcTime: 30_000,
} as const

export function useEntries(search: EntrySearch, enabled: boolean) {
  const { fromMs, toMs } = search
  return useInfiniteQuery({
    ...options,
    queryKey: ['entries', search],
    queryFn: ({ pageParam, signal }) =>
      searchEntries(search, { fromMs, toMs, limit: pageSize, before: pageParam }, signal),
    initialPageParam: undefined as SearchPage['before'],
    getNextPageParam: (page) => {
      const last = page.length === pageSize ? page.at(-1) : undefined
      return last && { timestamp: last.timestamp, id: last.id }
    },
    enabled,
  })
}

export function useHistogram(search: EntrySearch) {
  return useQuery({
    ...options,
    queryKey: ['histogram', search],
    queryFn: ({ signal }) => {
      const body = { ...bodyOf(search, search.fromMs, search.toMs), buckets: 120 }
      return api<Histogram>(`/api/sources/${at(search.source)}/histogram`, { body, signal })
    },
  })
}
