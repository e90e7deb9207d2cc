import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { api, at } from './api.ts'
import type { Entry, Histogram } from './api-types.ts'
import { followEntries } from './live-tail.ts'
import type { ParsedSearch } from './search-query.ts'

const pageSize = 200
/** Newest entries that a live view holds; older ones are a search away. */
const maxLive = 2_000

export interface EntrySearch extends ParsedSearch {
  source: string
  project: string | undefined
  fromMs: number
  toMs: number
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

export interface Live {
  /** Whether it is heard of what comes. */
  isOpen: boolean
  entries: Entry[]
  missed: number
  error: Error | undefined
}

const nothing: Live = { isOpen: false, entries: [], missed: 0, error: undefined }

/** Entries as they come, newest first. While it is paused they gather, and are shown afterwards. */
export function useLiveEntries(search: EntrySearch, active: boolean, paused: boolean): Live {
  const [live, setLive] = useState<Live>(nothing)
  const waiting = useRef<Entry[]>([])
  const isPaused = useRef(paused)
  isPaused.current = paused
  const { source, project, text, filters } = search
  const filter = JSON.stringify({ source, project, text, filters })

  useEffect(() => {
    if (!active) return
    setLive(nothing)
    waiting.current = []
    const ender = new AbortController()
    const show = () => {
      const come = waiting.current
      if (isPaused.current || come.length === 0) return
      waiting.current = []
      setLive((now) => ({ ...now, entries: [...come.toReversed(), ...now.entries].slice(0, maxLive) }))
    }
    // However fast entries come, the page is drawn a few times a second.
    const timer = setInterval(show, 250)
    followEntries(
      JSON.parse(filter),
      {
        onOpen: () => setLive((now) => ({ ...now, isOpen: true })),
        onEntries: (entries) => {
          waiting.current = [...waiting.current, ...entries].slice(-maxLive)
        },
        onMissed: (count) => setLive((now) => ({ ...now, missed: now.missed + count })),
      },
      ender.signal,
    ).then(
      () => setLive((now) => ({ ...now, isOpen: false, error: new Error('The stream ended.') })),
      (error: Error) => {
        if (!ender.signal.aborted) setLive((now) => ({ ...now, isOpen: false, error }))
      },
    )
    return () => {
      ender.abort()
      clearInterval(timer)
    }
  }, [active, filter])
  return live
}
