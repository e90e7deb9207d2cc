import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useCallback, useEffect, useId, useMemo, useState } from 'react'
import { queries } from '../data/queries.ts'
import { parseSearch, pathOf, withCondition } from '../data/search-query.ts'
import { sendSnippets } from '../data/snippets.ts'
import { readRange } from '../data/time-range.ts'
import { useAddress } from '../data/use-address.ts'
import { type EntrySearch, useEntries, useHistogram, useLiveEntries } from '../data/use-entries.ts'
import { EntryList } from '../parts/entry-list.tsx'
import { Histogram } from '../parts/histogram.tsx'
import { Icon } from '../parts/icon.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { RangePicker } from '../parts/range-picker.tsx'
import { SnippetBox } from '../parts/snippet.tsx'
import { Empty, Failure, Waiting } from '../parts/states.tsx'

/** Looking for entries. The address holds the whole view. */
export default function Explore() {
  const [address, setAddress] = useAddress()
  const [now, setNow] = useState(() => Date.now())
  const [paused, setPaused] = useState(false)
  const source = address.get('source') ?? 'edge_logs'
  const project = address.get('project') ?? undefined
  const live = address.get('live') === '1'
  const query = address.get('q') ?? ''
  const range = useMemo(() => readRange(address, now), [address, now])
  const search: EntrySearch = useMemo(
    () => ({ source, project, fromMs: range.fromMs, toMs: range.toMs, ...parseSearch(query) }),
    [source, project, range, query],
  )
  const found = useEntries(search, !live)
  const counts = useHistogram(search, !live)
  const tail = useLiveEntries(search, live, paused)
  const entries = useMemo(
    () => (live ? tail.entries : (found.data?.pages.flat() ?? [])),
    [live, tail.entries, found.data],
  )
  const { hasNextPage, isFetching, fetchNextPage } = found
  const more = useCallback(() => {
    if (!isFetching) fetchNextPage()
  }, [isFetching, fetchNextPage])
  const filter = (keys: string[], value: string, exclude: boolean) =>
    keys[0] === 'project' && !exclude
      ? setAddress({ project: value })
      : setAddress({ q: withCondition(query, pathOf(keys), value, exclude) })
  const fixed = (fromMs: number, toMs: number) =>
    setAddress({ from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString(), range: undefined })
  return (
    <div className="page">
      <PageHead
        title="Logs"
        actions={
          <>
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
                setNow(Date.now())
                setAddress({ live: live ? undefined : '1' })
              }}
            >
              {live ? 'Live' : 'Follow live'}
            </button>
            {!live && (
              <button type="button" className="button" onClick={() => setNow(Date.now())}>
                Refresh
              </button>
            )}
          </>
        }
      />
      <div className="explore-bar">
        <SourceChoice
          source={source}
          onChange={(chosen) => setAddress({ source: chosen, project: undefined })}
        />
        <RangePicker
          range={range}
          onRelative={(chosen) => {
            setNow(Date.now())
            setAddress({ range: chosen, from: undefined, to: undefined, live: undefined })
          }}
          onAbsolute={fixed}
        />
        <SearchField key={query} query={query} onSearch={(q) => setAddress({ q })} />
        <ProjectChoice
          source={source}
          project={project}
          onChange={(chosen) => setAddress({ project: chosen })}
        />
      </div>
      {live ? (
        <p className="live" role="status">
          <span className="dot" />
          {paused
            ? 'Paused. What comes is shown when you go on.'
            : tail.isOpen
              ? 'Entries appear here as they arrive.'
              : 'Connecting …'}
          {tail.missed > 0 && <span className="badge warn">{tail.missed} were too many to show</span>}
        </p>
      ) : (
        <Histogram counts={counts.data} fromMs={range.fromMs} toMs={range.toMs} onRange={fixed} />
      )}
      {(live ? tail.error : found.error) && (
        <Failure error={(live ? tail.error : found.error) as Error} retry={found.refetch} />
      )}
      {!live && !found.data && !found.error && <Waiting what="entries" height={420} />}
      {(live || found.data) && (
        <EntryList entries={entries} onEnd={!live && hasNextPage ? more : undefined} onFilter={filter} />
      )}
      {!live && found.data && entries.length === 0 && (
        <Empty title="No entries here">
          <p>Choose a longer time or fewer conditions, or send one:</p>
          <SnippetBox label="Send an entry" text={sendSnippets(location.origin, source)[0]?.text ?? ''} />
        </Empty>
      )}
    </div>
  )
}

function SourceChoice({ source, onChange }: { source: string; onChange: (source: string) => void }) {
  const id = useId()
  const { data = [] } = useQuery(queries.sources())
  const known = data.some(({ name }) => name === source)
  return (
    <div className="field">
      <label htmlFor={id}>Source</label>
      <select id={id} className="input" value={source} onChange={(event) => onChange(event.target.value)}>
        {!known && <option>{source}</option>}
        {data.map(({ name }) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </div>
  )
}

function ProjectChoice({
  source,
  project,
  onChange,
}: {
  source: string
  project: string | undefined
  onChange: (project: string | undefined) => void
}) {
  const id = useId()
  const { data = [] } = useQuery(queries.values(source, 'project', 168))
  const seen = data.map(({ value }) => value).filter((value) => value !== '')
  const all = project !== undefined && !seen.includes(project) ? [project, ...seen] : seen
  return (
    <div className="field">
      <label htmlFor={id}>Project</label>
      <select
        id={id}
        className="input"
        value={project ?? ''}
        onChange={(event) => onChange(event.target.value || undefined)}
      >
        <option value="">All projects</option>
        {all.map((value) => (
          <option key={value}>{value}</option>
        ))}
      </select>
    </div>
  )
}

function SearchField({ query, onSearch }: { query: string; onSearch: (query: string) => void }) {
  const id = useId()
  const [text, setText] = useState(query)
  useEffect(() => setText(query), [query])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onSearch(text.trim())
  }
  return (
    <form className="field wide" onSubmit={submit}>
      <label htmlFor={id}>Search</label>
      <input
        id={id}
        className="input mono"
        type="search"
        spellCheck={false}
        placeholder="words  response.status_code:>=400  -request.method:GET"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </form>
  )
}
