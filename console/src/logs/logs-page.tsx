import { useQuery } from '@tanstack/react-query'
import { useCallback, useMemo, useRef, useState } from 'react'
import { ApiError } from '../api/api.ts'
import { queries } from '../api/queries.ts'
import { edits, reads } from '../api/rights.ts'
import type { Facet, LogSource, Whoami } from '../api/shapes.ts'
import { Button } from '../ui/button.tsx'
import { SelectField } from '../ui/fields.tsx'
import { Failure, Waiting } from '../ui/states.tsx'
import { counted } from '../ui/text/format.ts'
import { showInstant, useZone } from '../ui/text/instants.ts'
import { useAddress } from '../ui/use-address.ts'
import { ProjectField } from './bar/project-field.tsx'
import { RangePicker } from './bar/range-picker.tsx'
import { SourceField } from './bar/source-field.tsx'
import { ColumnPicker } from './entries/column-picker.tsx'
import { EntryList } from './entries/entry-list.tsx'
import { useColumns } from './entries/use-columns.ts'
import { Facets } from './facets.tsx'
import { Histogram } from './histogram.tsx'
import { useLiveEntries } from './live/use-live-entries.ts'
import { LogsHead } from './logs-head.tsx'
import { NothingFound } from './nothing-found.tsx'
import { Onward } from './onward.tsx'
import { conditionOf, withCondition } from './search/conditions.ts'
import { pathOf } from './search/paths.ts'
import { SearchField } from './search/search-field.tsx'
import { facetsOf, fieldOfPath, splitFields } from './source-fields.ts'
import { seriesCondition } from './split-series.ts'
import { useCountedTime } from './use-counted-time.ts'
import { useEntries, useFacets, useHistogram } from './use-entries.ts'
import { useFirstSource } from './use-first-source.ts'
import { useLogsView } from './use-logs-view.ts'

const dayMs = 86_400_000
const noFields: readonly Facet[] = []
/** A list of several sources has what all of them have. */
const traceColumns = ['source', 'project', 'message'].map((path) => ({ path, width: 150, least: 150 }))
/** As many entries show whether their messages differ. */
const comparedEntries = 50

/** Searches the entries of a source. */
export default function LogsPage({ who }: { who: Whoami }) {
  const [address] = useAddress()
  const { data: all } = useQuery({ ...queries.sources(), enabled: reads(who) })
  const sources: readonly LogSource[] | undefined = reads(who) ? all : who.sources
  const named = address.get('source')
  const { first, filled } = useFirstSource(who, sources ?? [], named === null)
  const name = named ?? (sources && first)
  if (name === undefined) return <Waiting what="sources" height={420} />
  return <SourceLogs who={who} name={name} sources={sources ?? []} filled={filled} />
}

interface SourceLogsProps {
  who: Whoami
  name: string
  sources: readonly LogSource[]
  filled: ReadonlySet<string> | undefined
}

function SourceLogs({ who, name, sources, filled }: SourceLogsProps) {
  const zone = useZone()
  const { source, search, live, by, isUnsplit, rangeAt, ask } = useLogsView(who, name, sources)
  const { query, project, around, trace } = search
  const [paused, setPaused] = useState(false)
  const [showFacets, setShowFacets] = useState(() => matchMedia('(min-width: 1081px)').matches)
  const isReading = useRef(false)

  const counting = useRef(false)
  const countedMs = useCountedTime(search, live && !paused, counting)
  const range = rangeAt(live ? countedMs : search.requestedMs)
  const { fromMs, toMs } = range
  const counts = useHistogram(live ? { ...search, fromMs, toMs } : search, by, !isUnsplit)
  counting.current = counts.isFetching
  const found = useEntries(search, !live)
  const tail = useLiveEntries(search, live, paused, isReading)
  const [isTyping, setTyping] = useState(false)
  const isSearch = trace === undefined
  const facets = useFacets(search, live, source.columns.length, isSearch && (showFacets || isTyping))
  const fields = facets.data?.facets ?? noFields
  const detected = useMemo(() => fields.filter(({ column }) => column === null), [fields])
  const shownFacets = useMemo(
    () => facets.data && facetsOf(facets.data, source.columns),
    [facets.data, source],
  )
  const before = useMemo(() => found.data?.pages.flatMap((one) => one.entries) ?? [], [found.data])
  const sinceMs = live ? undefined : found.data?.pages.at(-1)?.sinceMs
  const isTail = live && (tail.hasBegun || tail.entries.length > 0)
  const entries = isTail ? tail.entries : before
  const isOld = live ? !tail.hasBegun : found.isPlaceholderData
  const error = (live ? tail.error : found.error) ?? undefined
  const isMisunderstood = error instanceof ApiError && error.parameter === 'query'
  const hasList = isTail || found.data !== undefined
  const isEmpty = hasList && !isOld && !error && entries.length === 0
  const hasProjects = who.project === null
  const compared = entries.slice(0, comparedEntries)
  const differs = (key: 'project' | 'event_message') =>
    compared.length < 2 || compared.some((one) => one[key] !== compared[0]?.[key])
  const columns = useColumns(source.name, {
    projects: hasProjects && project === undefined && differs('project'),
    messages: differs('event_message'),
  })
  const shown = isSearch ? columns.shown : traceColumns

  const { hasNextPage, isFetching, fetchNextPage } = found
  const more = useCallback(() => {
    if (!isFetching) fetchNextPage()
  }, [isFetching, fetchNextPage])
  const addCondition = (condition: string) => ask({ q: withCondition(query, condition), trace: undefined })
  const fieldOf = ([first = '', ...rest]: string[]) =>
    first === 'metadata' ? fieldOfPath(pathOf(rest), source.columns) : pathOf([first, ...rest])
  const filter = (keys: string[], value: string, exclude: boolean) => {
    if (keys[0] === 'project' && !exclude && hasProjects) return ask({ project: value })
    addCondition(conditionOf(fieldOf(keys), value, exclude))
  }
  const addColumn = ([first = '', ...rest]: string[]) => {
    const path = first === 'metadata' ? columnPath(pathOf(rest)) : first.replace('event_message', 'message')
    const paths = columns.shown?.map((one) => one.path) ?? []
    const hasMessage = paths.at(-1) === 'message'
    if (paths.includes(path)) return
    columns.choose(hasMessage ? [...paths.slice(0, -1), path, 'message'] : [...paths, path])
  }
  const between = (from: number, to: number) =>
    ask({
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
      range: undefined,
      live: undefined,
    })
  const toggleLive = () => {
    setPaused(false)
    // A live view has no fixed end.
    ask(live ? { live: undefined } : { live: '1', from: undefined, to: undefined })
  }
  return (
    <div className="page logs">
      <button type="button" className="skip" onClick={focusFirstEntry}>
        Skip to entries
      </button>
      <LogsHead
        tail={live ? tail : undefined}
        paused={paused}
        onPause={setPaused}
        onLive={toggleLive}
        onRefresh={() => ask({})}
        current={
          edits(who)
            ? { source: source.name, query, project: project ?? null, range: range.relative ?? null }
            : undefined
        }
      />
      <div className="logs-bar">
        <SourceField
          source={source.name}
          sources={sources}
          filled={filled}
          onChange={(chosen) => ask({ source: chosen, project: undefined, by: undefined, trace: undefined })}
        />
        <RangePicker
          range={range}
          onRelative={(chosen) => ask({ range: chosen, from: undefined, to: undefined, live: undefined })}
          onAbsolute={between}
        />
        {hasProjects && (
          <ProjectField
            source={source.name}
            fromMs={Math.min(search.fromMs, search.requestedMs - 7 * dayMs)}
            project={project}
            onChange={(chosen) => ask({ project: chosen })}
          />
        )}
        <SelectField
          label="Split by"
          value={by ?? 'none'}
          options={[
            ['none', 'Nothing'],
            ...unique([...splitFields(source.columns, detected), ...(by ? [by] : [])]),
          ]}
          onChange={(chosen) => ask({ by: chosen })}
        />
        <SearchField
          query={query}
          scope={{ source, project, fromMs: search.fromMs, detected }}
          onFocus={() => setTyping(true)}
          error={isMisunderstood ? error : undefined}
          onSearch={(q) => ask({ q, trace: undefined })}
        />
      </div>
      {around && (
        <div className="note-box row">
          <p>
            Entries around{' '}
            {around.timestamp === undefined ? around.id : showInstant(around.timestamp / 1000, zone)}
          </p>
          <Button look="small" onClick={() => ask({})}>
            Search these minutes
          </Button>
        </div>
      )}
      {trace !== undefined && (
        <div className="note-box row">
          <p role="status">
            {hasList && !isOld ? counted(entries.length, 'entry', 'entries') : 'Entries'} of all sources with{' '}
            <code>{trace}</code>
          </p>
          <Button look="small" onClick={() => ask({ trace: undefined })}>
            Back to {source.name}
          </Button>
        </div>
      )}
      {isEmpty && isSearch && (
        <NothingFound
          {...{ search, range, ask }}
          columns={source.columns}
          notes={counts.data?.notes ?? []}
          newest={counts.data?.newest ?? null}
          canSend={who.admin}
        />
      )}
      {error && !isMisunderstood && <Failure error={error} retry={live ? tail.restart : found.refetch} />}
      {sinceMs !== undefined && (
        <div className="note-box row" role="status">
          <p>Entries before {showInstant(sinceMs, zone, 'seconds')} were not searched in time.</p>
          <Button look="small" onClick={() => between(fromMs, sinceMs)}>
            Search them
          </Button>
        </div>
      )}
      <div className="logs-body">
        {isSearch && (
          <Facets
            facets={shownFacets}
            search={search}
            canSpeedUp={who.admin}
            isOld={facets.isPlaceholderData}
            onQuery={(q) => ask({ q })}
            open={showFacets}
            onToggle={setShowFacets}
          />
        )}
        <div className="stack">
          {isSearch && (
            <Histogram
              counts={counts.data}
              isOld={counts.isPlaceholderData && (!live || isOld)}
              hasFailed={counts.isError}
              fromMs={fromMs}
              toMs={toMs}
              by={by}
              onRange={between}
              onSeries={(series) => {
                const condition = by && seriesCondition(by, series)
                return condition ? () => addCondition(condition) : undefined
              }}
            />
          )}
          {(!hasList || !shown) && !error && <Waiting what="entries" height={420} />}
          {hasList && shown && !isEmpty && (
            <>
              {isSearch && (
                <div className="row entries-tools">
                  <Onward
                    search={search}
                    relativeMs={range.relative === undefined ? undefined : toMs - fromMs}
                    canDefine={edits(who)}
                  />
                  <ColumnPicker
                    columns={columns}
                    fields={fields.map(({ field }) => columnPath(field))}
                    source={who.admin ? source.name : undefined}
                  />
                </div>
              )}
              <EntryList
                entries={entries}
                source={source.name}
                linked={around?.id}
                searchKey={JSON.stringify([live, search])}
                isOld={isOld}
                isReading={live ? isReading : undefined}
                showDay={toMs - fromMs > dayMs}
                columns={shown}
                onColumns={columns}
                onEnd={!live && hasNextPage ? more : undefined}
                onFilter={filter}
                onColumn={isSearch ? addColumn : undefined}
              />
            </>
          )}
        </div>
      </div>
    </div>
  )
}

const unique = (names: readonly string[]) => [...new Set(names)].map((name) => [name] as const)

const ownFields = ['project', 'id', 'message', 'event_message', 'timestamp', 'source']

/** The prefix keeps a path of metadata from meaning another field of that name. */
const columnPath = (path: string) => (ownFields.includes(path) ? `metadata.${path}` : path)

function focusFirstEntry(): void {
  document.querySelector<HTMLElement>('#entries .entry')?.focus()
}
