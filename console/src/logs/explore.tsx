import { useQuery } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useState } from 'react'
import { queries } from '../api/queries.ts'
import { Icon } from '../ui/icon.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { SnippetBox } from '../ui/snippet.tsx'
import { sendSnippets } from '../ui/snippets.ts'
import { Empty, Failure, Waiting } from '../ui/states.tsx'
import { useAddress } from '../ui/use-address.ts'
import { ZoneChoice } from '../ui/zone-choice.tsx'
import { EntryList } from './entry-list.tsx'
import { ProjectChoice, SearchField, SourceChoice } from './explore-fields.tsx'
import { Histogram } from './histogram.tsx'
import { LiveStatus } from './live-status.tsx'
import { RangePicker } from './range-picker.tsx'
import { parseSearch, pathOf, withCondition } from './search-query.ts'
import { readRange } from './time-range.ts'
import { type EntrySearch, useEntries, useHistogram } from './use-entries.ts'
import { useLiveEntries } from './use-live-entries.ts'

/** While entries come they are counted so often. */
const countEveryMs = 10_000
const dayMs = 86_400_000

/** Looking for entries. The address holds the whole view. */
export default function Explore() {
  const [address, setAddress] = useAddress()
  const [askedMs, setAskedMs] = useState(() => Date.now())
  const [paused, setPaused] = useState(false)
  const source = address.get('source') ?? 'edge_logs'
  const project = address.get('project') ?? undefined
  const live = address.get('live') === '1'
  const query = address.get('q') ?? ''
  const search: EntrySearch = useMemo(() => {
    const { fromMs, toMs } = readRange(address, askedMs)
    return { source, project, fromMs, toMs, askedMs, ...parseSearch(query) }
  }, [address, source, project, askedMs, query])
  const countedMs = useCountedTime(askedMs, live && !paused)
  const range = useMemo(
    () => readRange(address, live ? countedMs : askedMs),
    [address, live, countedMs, askedMs],
  )
  const counted = live ? { ...search, fromMs: range.fromMs, toMs: range.toMs } : search

  const found = useEntries(search, !live)
  const counts = useHistogram(counted, true)
  const tail = useLiveEntries(search, live, paused)
  const before = useMemo(() => found.data?.pages.flat() ?? [], [found.data])
  const isTail = live && (tail.hasBegun || tail.entries.length > 0)
  const entries = isTail ? tail.entries : before
  const isOld = live ? !tail.hasBegun : found.isPlaceholderData
  const error = live ? tail.error : found.error
  const hasList = isTail || found.data !== undefined
  const { data: seen } = useQuery(queries.values(source, 'project', 168))
  const projects = useMemo(
    () => (seen ?? []).map(({ value }) => value).filter((value) => value !== ''),
    [seen],
  )

  const { hasNextPage, isFetching, fetchNextPage } = found
  const more = useCallback(() => {
    if (!isFetching) fetchNextPage()
  }, [isFetching, fetchNextPage])
  /** Whatever is asked for, it is asked up to now. */
  const ask = (changes: Parameters<typeof setAddress>[0]) => {
    setAskedMs(Date.now())
    setAddress(changes)
  }
  const filter = (keys: string[], value: string, exclude: boolean) =>
    keys[0] === 'project' && !exclude
      ? ask({ project: value })
      : ask({ q: withCondition(query, pathOf(keys), value, exclude) })
  const between = (fromMs: number, toMs: number) =>
    ask({
      from: new Date(fromMs).toISOString(),
      to: new Date(toMs).toISOString(),
      range: undefined,
      live: undefined,
    })
  return (
    <div className="page">
      <PageHead
        title="Logs"
        actions={
          <>
            <ZoneChoice />
            {live && (
              <button
                type="button"
                className="button"
                aria-pressed={paused}
                onClick={() => setPaused(!paused)}
              >
                <Icon name={paused ? 'run' : 'pause'} />
                {paused ? 'Go on' : 'Pause'}
              </button>
            )}
            <button
              type="button"
              className={`button${live ? ' primary' : ''}`}
              aria-pressed={live}
              onClick={() => {
                setPaused(false)
                // What comes is not between two instants of the past.
                ask(live ? { live: undefined } : { live: '1', from: undefined, to: undefined })
              }}
            >
              {live ? 'Live' : 'Follow live'}
            </button>
            {!live && (
              <button type="button" className="button" onClick={() => ask({})}>
                Refresh
              </button>
            )}
          </>
        }
      >
        {live ? <LiveStatus tail={tail} paused={paused} /> : <p>Entries of a source, newest first.</p>}
      </PageHead>
      <div className="explore-bar">
        <SourceChoice source={source} onChange={(chosen) => ask({ source: chosen, project: undefined })} />
        <RangePicker
          range={range}
          onRelative={(chosen) => ask({ range: chosen, from: undefined, to: undefined, live: undefined })}
          onAbsolute={between}
        />
        <SearchField query={query} onSearch={(q) => ask({ q })} />
        <ProjectChoice seen={projects} project={project} onChange={(chosen) => ask({ project: chosen })} />
      </div>
      <Histogram
        counts={counts.data}
        isOld={counts.isPlaceholderData && (!live || isOld)}
        hasFailed={counts.isError}
        fromMs={range.fromMs}
        toMs={range.toMs}
        onRange={between}
      />
      {error && <Failure error={error} retry={live ? tail.restart : found.refetch} />}
      {!hasList && !error && <Waiting what="entries" height={420} />}
      {hasList && (
        <EntryList
          entries={entries}
          question={JSON.stringify([live, search])}
          isOld={isOld}
          grows={live}
          showDay={range.toMs - range.fromMs > dayMs}
          showProject={project === undefined && projects.length !== 1}
          onEnd={!live && hasNextPage ? more : undefined}
          onFilter={filter}
        />
      )}
      {!live && !isOld && found.data && entries.length === 0 && (
        <Empty title="No entries here">
          <p>Choose a longer time or fewer conditions, or send one:</p>
          <SnippetBox label="Send an entry" text={sendSnippets(location.origin, source)[0]?.text ?? ''} />
        </Empty>
      )}
    </div>
  )
}

/** Goes on from time to time while entries come in. */
function useCountedTime(askedMs: number, goesOn: boolean): number {
  const [nowMs, setNowMs] = useState(askedMs)
  useEffect(() => {
    if (!goesOn) return
    setNowMs(Date.now())
    const timer = setInterval(() => setNowMs(Date.now()), countEveryMs)
    return () => clearInterval(timer)
  }, [goesOn])
  return Math.max(nowMs, askedMs)
}
