import { useQuery } from '@tanstack/react-query'
import { useCallback, useMemo, useRef, useState } from 'react'
import { ApiError } from '../api/api.ts'
import { queries } from '../api/queries.ts'
import type { DetectedField, Whoami } from '../api/shapes.ts'
import { Button } from '../ui/button.tsx'
import { SelectField } from '../ui/fields.tsx'
import { showInstant, useZone } from '../ui/instants.ts'
import { Failure, Waiting } from '../ui/states.tsx'
import { EntryList } from './entries/entry-list.tsx'
import { Facets } from './facets.tsx'
import { Histogram } from './histogram.tsx'
import { useLiveEntries } from './live/use-live-entries.ts'
import { LogsHead } from './logs-head.tsx'
import { NothingFound } from './nothing-found.tsx'
import { RangePicker } from './range-picker.tsx'
import { conditionOf, pathOf, withCondition } from './search/conditions.ts'
import { SearchField } from './search/search-field.tsx'
import { facetsOf, fieldOfPath, splitFields } from './source-fields.ts'
import { seriesCondition } from './split-series.ts'
import { useCountedTime } from './use-counted-time.ts'
import { useEntries, useFacets, useHistogram } from './use-entries.ts'
import { useLogsView } from './use-logs-view.ts'

const dayMs = 86_400_000
const noFields: readonly DetectedField[] = []
const unique = (names: readonly string[]) => [...new Set(names)].map((name) => [name] as const)

/** Searches the entries of a source. */
export default function LogsPage({ who }: { who: Whoami }) {
  const zone = useZone()
  const { sources, source, search, live, by, rangeAt, ask } = useLogsView(who)
  const { query, project, around } = search
  const [paused, setPaused] = useState(false)
  const [showFacets, setShowFacets] = useState(() => matchMedia('(min-width: 1081px)').matches)
  const isReading = useRef(false)

  const counting = useRef(false)
  const countedMs = useCountedTime(search, live && !paused, counting)
  const range = rangeAt(live ? countedMs : search.requestedMs)
  const { fromMs, toMs } = range
  const counts = useHistogram(live ? { ...search, fromMs, toMs } : search, by)
  counting.current = counts.isFetching
  const found = useEntries(search, !live)
  const tail = useLiveEntries(search, live, paused, isReading)
  const [isTyping, setTyping] = useState(false)
  const facets = useFacets(search, live, source.columns.length, showFacets || isTyping)
  const detected = useMemo(
    () => facets.data?.facets.filter(({ column }) => column === null) ?? noFields,
    [facets.data],
  )
  const shownFacets = useMemo(
    () => facets.data && facetsOf(facets.data, source.columns),
    [facets.data, source],
  )
  const before = useMemo(() => found.data?.pages.flat() ?? [], [found.data])
  const isTail = live && (tail.hasBegun || tail.entries.length > 0)
  const entries = isTail ? tail.entries : before
  const isOld = live ? !tail.hasBegun : found.isPlaceholderData
  const error = (live ? tail.error : found.error) ?? undefined
  const isMisunderstood = error instanceof ApiError && error.parameter === 'query'
  const hasList = isTail || found.data !== undefined
  const isEmpty = hasList && !isOld && !error && entries.length === 0
  const hasProjects = who.project === null
  const { data: values } = useQuery({ ...queries.values(source.name, 'project'), enabled: hasProjects })
  const projects = (values ?? []).map(({ value }) => value).filter((value) => value !== '')

  const { hasNextPage, isFetching, fetchNextPage } = found
  const more = useCallback(() => {
    if (!isFetching) fetchNextPage()
  }, [isFetching, fetchNextPage])
  const addCondition = (condition: string) => ask({ q: withCondition(query, condition) })
  const filter = (keys: string[], value: string, exclude: boolean) => {
    const [first, ...rest] = keys
    if (first === 'project' && !exclude && hasProjects) return ask({ project: value })
    const field = first === 'metadata' ? fieldOfPath(pathOf(rest), source.columns) : pathOf(keys)
    addCondition(conditionOf(field, value, exclude))
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
      <LogsHead
        tail={live ? tail : undefined}
        paused={paused}
        onPause={setPaused}
        onLive={toggleLive}
        onRefresh={() => ask({})}
        current={
          who.admin
            ? { source: source.name, query, project: project ?? null, range: range.relative ?? null }
            : undefined
        }
      />
      <div className="logs-bar">
        <SelectField
          label="Source"
          value={source.name}
          options={unique([...sources.map(({ name }) => name), source.name])}
          onChange={(chosen) => ask({ source: chosen, project: undefined, by: undefined })}
        />
        <RangePicker
          range={range}
          onRelative={(chosen) => ask({ range: chosen, from: undefined, to: undefined, live: undefined })}
          onAbsolute={between}
        />
        {hasProjects && (
          <SelectField
            label="Project"
            value={project ?? ''}
            options={[['', 'All projects'], ...unique([...(project ? [project] : []), ...projects])]}
            onChange={(chosen) => ask({ project: chosen || undefined })}
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
          onSearch={(q) => ask({ q })}
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
      {isEmpty && (
        <NothingFound
          {...{ query, project, range, ask }}
          source={source.name}
          notes={counts.data?.notes ?? []}
          canSend={who.admin}
        />
      )}
      {error && !isMisunderstood && <Failure error={error} retry={live ? tail.restart : found.refetch} />}
      <div className="logs-body">
        <Facets
          facets={shownFacets}
          source={who.admin ? source.name : undefined}
          isOld={facets.isPlaceholderData}
          query={query}
          onQuery={(q) => ask({ q })}
          open={showFacets}
          onToggle={setShowFacets}
        />
        <div className="stack">
          <Histogram
            counts={counts.data}
            isOld={counts.isPlaceholderData && (!live || isOld)}
            hasFailed={counts.isError}
            fromMs={fromMs}
            toMs={toMs}
            onRange={between}
            onSeries={(series) => {
              const condition = by && seriesCondition(by, series)
              return condition ? () => addCondition(condition) : undefined
            }}
          />
          {!hasList && !error && <Waiting what="entries" height={420} />}
          {hasList && !isEmpty && (
            <EntryList
              entries={entries}
              source={source.name}
              linked={around?.id}
              searchKey={JSON.stringify([live, search])}
              isOld={isOld}
              isReading={live ? isReading : undefined}
              showDay={toMs - fromMs > dayMs}
              showProject={hasProjects && project === undefined && projects.length !== 1}
              onEnd={!live && hasNextPage ? more : undefined}
              onFilter={filter}
            />
          )}
        </div>
      </div>
    </div>
  )
}
