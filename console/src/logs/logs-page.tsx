import { useQuery } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useState } from 'react'
import { queries } from '../api/queries.ts'
import { ZoneChoice } from '../ui/choices.tsx'
import { SelectField } from '../ui/fields.tsx'
import { Icon } from '../ui/icon.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { SnippetBox } from '../ui/snippet.tsx'
import { sendSnippets } from '../ui/snippets.ts'
import { Empty, Failure, Waiting } from '../ui/states.tsx'
import { useAddress } from '../ui/use-address.ts'
import { EntryList } from './entry-list.tsx'
import { Histogram } from './histogram.tsx'
import { LiveStatus } from './live-status.tsx'
import { RangePicker } from './range-picker.tsx'
import { SearchField } from './search-field.tsx'
import { parseSearch, pathOf, withCondition } from './search-query.ts'
import { readRange } from './time-range.ts'
import { type EntrySearch, useEntries, useHistogram } from './use-entries.ts'
import { useLiveEntries } from './use-live-entries.ts'

const countEveryMs = 10_000
const dayMs = 86_400_000

/** Searches the entries of a source. The address holds the whole view. */
export default function LogsPage() {
  const [address, setAddress] = useAddress()
  const [requestedMs, setRequestedMs] = useState(() => Date.now())
  const [paused, setPaused] = useState(false)
  const source = address.get('source') ?? 'edge_logs'
  const project = address.get('project') ?? undefined
  const live = address.get('live') === '1'
  const query = address.get('q') ?? ''
  const search: EntrySearch = useMemo(() => {
    const { fromMs, toMs } = readRange(address, requestedMs)
    return { source, project, fromMs, toMs, requestedMs, ...parseSearch(query) }
  }, [address, source, project, requestedMs, query])
  const countedMs = useCountedTime(requestedMs, live && !paused)
  const range = useMemo(
    () => readRange(address, live ? countedMs : requestedMs),
    [address, live, countedMs, requestedMs],
  )

  const found = useEntries(search, !live)
  const counts = useHistogram(live ? { ...search, fromMs: range.fromMs, toMs: range.toMs } : search)
  const tail = useLiveEntries(search, live, paused)
  const before = useMemo(() => found.data?.pages.flat() ?? [], [found.data])
  const isTail = live && (tail.hasBegun || tail.entries.length > 0)
  const entries = isTail ? tail.entries : before
  const isOld = live ? !tail.hasBegun : found.isPlaceholderData
  const error = live ? tail.error : found.error
  const hasList = isTail || found.data !== undefined
  const { data: sources = [] } = useQuery(queries.sources())
  const { data: values } = useQuery(queries.values(source, 'project'))
  const projects = useMemo(
    () => (values ?? []).map(({ value }) => value).filter((value) => value !== ''),
    [values],
  )

  const { hasNextPage, isFetching, fetchNextPage } = found
  const more = useCallback(() => {
    if (!isFetching) fetchNextPage()
  }, [isFetching, fetchNextPage])
  /** Every search reaches up to the time of its request. */
  const ask = (changes: Parameters<typeof setAddress>[0]) => {
    setRequestedMs(Date.now())
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
  const toggleLive = () => {
    setPaused(false)
    // A live view has no fixed end.
    ask(live ? { live: undefined } : { live: '1', from: undefined, to: undefined })
  }
  const unique = (names: readonly string[]) => [...new Set(names)].map((name) => [name] as const)
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
                {paused ? 'Resume' : 'Pause'}
              </button>
            )}
            <button
              type="button"
              className={`button${live ? ' primary' : ''}`}
              aria-pressed={live}
              onClick={toggleLive}
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
      <div className="logs-bar">
        <SelectField
          label="Source"
          value={source}
          options={unique([...sources.map(({ name }) => name), source])}
          onChange={(chosen) => ask({ source: chosen, project: undefined })}
        />
        <RangePicker
          range={range}
          onRelative={(chosen) => ask({ range: chosen, from: undefined, to: undefined, live: undefined })}
          onAbsolute={between}
        />
        <SearchField query={query} onSearch={(q) => ask({ q })} />
        <SelectField
          label="Project"
          value={project ?? ''}
          options={[['', 'All projects'], ...unique([...(project ? [project] : []), ...projects])]}
          onChange={(chosen) => ask({ project: chosen || undefined })}
        />
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
          searchKey={JSON.stringify([live, search])}
          isOld={isOld}
          grows={live}
          showDay={range.toMs - range.fromMs > dayMs}
          showProject={project === undefined && projects.length !== 1}
          onEnd={!live && hasNextPage ? more : undefined}
          onFilter={filter}
        />
      )}
      {!live && !isOld && found.data && entries.length === 0 && (
        <Empty title="No entries found">
          <p>Choose a longer time range, remove conditions, or send an entry:</p>
          <SnippetBox label="Send an entry" text={sendSnippets(location.origin, source)[0]?.text ?? ''} />
        </Empty>
      )}
    </div>
  )
}

/** The end of the counted range, which advances while the view is live. */
function useCountedTime(requestedMs: number, advances: boolean): number {
  const [nowMs, setNowMs] = useState(requestedMs)
  useEffect(() => {
    if (!advances) return
    setNowMs(Date.now())
    const timer = setInterval(() => setNowMs(Date.now()), countEveryMs)
    return () => clearInterval(timer)
  }, [advances])
  return Math.max(nowMs, requestedMs)
}
