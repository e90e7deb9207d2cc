import { useMemo, useRef, useState } from 'react'
import { ApiError } from '../api/api.ts'
import type { Facet, LogSource, Whoami } from '../api/shapes.ts'
import { useLiveEntries } from '../live/use-live-entries.ts'
import { withCondition } from './search/conditions.ts'
import { useCountedTime } from './use-counted-time.ts'
import { useEntries, useFacets, useHistogram } from './use-entries.ts'
import { useLogsView } from './use-logs-view.ts'

const noFields: readonly Facet[] = []

export type Logs = ReturnType<typeof useLogs>

/** What the page searches, what was found, and how to search for something else. */
export function useLogs(who: Whoami, name: string, sources: readonly LogSource[]) {
  const { rangeAt, isUnsplit, ...view } = useLogsView(who, name, sources)
  const { source, search, live, by, ask } = view
  const [paused, setPaused] = useState(false)
  const [showFacets, setShowFacets] = useState(() => matchMedia('(min-width: 1081px)').matches)
  const [isTyping, setTyping] = useState(false)
  const isReading = useRef(false)
  const counting = useRef(false)
  const countedMs = useCountedTime(search, live && !paused, counting)
  const range = rangeAt(live ? countedMs : search.requestedMs)
  const { fromMs, toMs } = range
  const counts = useHistogram(live ? { ...search, fromMs, toMs } : search, by, !isUnsplit)
  counting.current = counts.isFetching
  const found = useEntries(search, !live)
  const tail = useLiveEntries(search, live, paused, isReading)
  const isSearch = search.trace === undefined
  const facets = useFacets(search, live, source.columns.length, isSearch && (showFacets || isTyping))
  const fields = facets.data?.facets ?? noFields
  const detected = useMemo(() => fields.filter(({ column }) => column === null), [fields])
  const before = useMemo(() => found.data?.pages.flatMap((one) => one.entries) ?? [], [found.data])
  const isTail = live && (tail.hasBegun || tail.entries.length > 0)
  const entries = isTail ? tail.entries : before
  const isOld = live ? !tail.hasBegun : found.isPlaceholderData
  const error = (live ? tail.error : found.error) ?? undefined
  const hasList = isTail || found.data !== undefined
  return {
    ...view,
    range,
    counts,
    found,
    tail,
    facets,
    fields,
    detected,
    entries,
    error,
    paused,
    setPaused,
    showFacets,
    setShowFacets,
    setTyping,
    isReading,
    /** Whether this searches one source; otherwise it shows the entries of a trace. */
    isSearch,
    hasProjects: who.project === null,
    isMisunderstood: error instanceof ApiError && error.parameter === 'query',
    hasList,
    /** Whether the entries are those of the search before. */
    isOld,
    isEmpty: hasList && !isOld && !error && entries.length === 0,
    /** Where the service stopped searching before the start of the range. */
    sinceMs: live ? undefined : found.data?.pages.at(-1)?.sinceMs,
    addCondition: (condition: string) => ask({ q: withCondition(search.query, condition), trace: undefined }),
    between: (from: number, to: number) =>
      ask({
        from: new Date(from).toISOString(),
        to: new Date(to).toISOString(),
        range: undefined,
        live: undefined,
      }),
    toggleLive: () => {
      setPaused(false)
      // A live view has no fixed end.
      ask(live ? { live: undefined } : { live: '1', from: undefined, to: undefined })
    },
  }
}
