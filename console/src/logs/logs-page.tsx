import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { queries } from '../api/queries.ts'
import { edits, reads } from '../api/rights.ts'
import type { LogSource, Whoami } from '../api/shapes.ts'
import { Button } from '../ui/button.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Empty, Failure, Waiting } from '../ui/states.tsx'
import { counted } from '../ui/text/format.ts'
import { showInstant, useZone } from '../ui/text/instants.ts'
import { useAddress } from '../ui/use-address.ts'
import { LogsBar } from './bar/logs-bar.tsx'
import { CountedNote } from './counted-note.tsx'
import { FoundEntries } from './entries/found-entries.tsx'
import { Facets } from './facets.tsx'
import { Histogram } from './histogram.tsx'
import { LogsHead } from './logs-head.tsx'
import { NothingFound } from './nothing-found.tsx'
import { facetsOf } from './source-fields.ts'
import { seriesCondition } from './split-series.ts'
import { sourcesOf, useFirstSource } from './use-first-source.ts'
import { type Logs, useLogs } from './use-logs.ts'

/** Searches the entries of a source. */
export default function LogsPage({ who }: { who: Whoami }) {
  const [address] = useAddress()
  const { data: all } = useQuery({ ...queries.sources(), enabled: reads(who) })
  const sources: readonly LogSource[] | undefined = reads(who) ? all : sourcesOf(who)
  const named = address.get('source')
  const { first, filled } = useFirstSource(who, sources ?? [])
  const name = named ?? (sources && first)
  if (named === null && sources?.length === 0) return <NoSource />
  if (name === undefined) return <Waiting what="sources" height={420} />
  return <SourceLogs who={who} name={name} sources={sources ?? []} filled={filled} />
}

function NoSource() {
  return (
    <div className="page">
      <PageHead title="Logs" />
      <Empty title="There is no source that this token can read">
        An admin can publish sources, or name them in the scopes of the token.
      </Empty>
    </div>
  )
}

interface SourceLogsProps {
  who: Whoami
  name: string
  sources: readonly LogSource[]
  filled: ReadonlySet<string> | undefined
}

function SourceLogs({ who, name, sources, filled }: SourceLogsProps) {
  const logs = useLogs(who, name, sources)
  const { source, search, live, range, counts, facets, tail, error, isSearch, ask } = logs
  const shownFacets = useMemo(
    () => facets.data && facetsOf(facets.data, source.columns),
    [facets.data, source],
  )
  return (
    <div className="page logs">
      <button type="button" className="skip" onClick={focusFirstEntry}>
        Skip to entries
      </button>
      <LogsHead
        tail={live ? tail : undefined}
        paused={logs.paused}
        onPause={logs.setPaused}
        onLive={logs.toggleLive}
        onRefresh={() => ask({})}
        current={
          edits(who)
            ? {
                source: source.name,
                query: search.query,
                project: search.project ?? null,
                range: range.relative ?? null,
              }
            : undefined
        }
      />
      <LogsBar logs={logs} sources={sources} filled={filled} />
      <LinkNotes logs={logs} />
      {logs.isEmpty && isSearch && (
        <NothingFound
          search={search}
          range={range}
          ask={ask}
          columns={source.columns}
          notes={counts.data?.notes ?? []}
          newest={counts.data?.newest ?? null}
          canSend={who.admin}
        />
      )}
      {error && !logs.isMisunderstood && (
        <Failure error={error} retry={live ? tail.restart : logs.found.refetch} />
      )}
      <UnsearchedNote logs={logs} />
      <div className="logs-body">
        {isSearch && (
          <Facets
            facets={shownFacets}
            sinceMs={facets.data?.sinceMs}
            search={search}
            canSpeedUp={who.admin}
            isOld={facets.isPlaceholderData}
            onQuery={(q) => ask({ q })}
            open={logs.showFacets}
            onToggle={logs.setShowFacets}
          />
        )}
        <div className="stack">
          {isSearch && <Counts logs={logs} />}
          <FoundEntries who={who} logs={logs} />
        </div>
      </div>
    </div>
  )
}

/** Says that a link chose the entries, and leads back to the search. */
function LinkNotes({ logs }: { logs: Logs }) {
  const zone = useZone()
  const { source, search, entries, ask } = logs
  const { around, trace } = search
  return (
    <>
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
            {logs.hasList && !logs.isOld ? counted(entries.length, 'entry', 'entries') : 'Entries'} of all
            sources with <code>{trace}</code>
          </p>
          <Button look="small" onClick={() => ask({ trace: undefined })}>
            Back to {source.name}
          </Button>
        </div>
      )}
    </>
  )
}

function UnsearchedNote({ logs: { range, sinceMs, between } }: { logs: Logs }) {
  const zone = useZone()
  if (sinceMs === undefined) return null
  return (
    <div className="note-box row" role="status">
      <p>Entries before {showInstant(sinceMs, zone, 'seconds')} were not searched in time.</p>
      <Button look="small" onClick={() => between(range.fromMs, sinceMs)}>
        Search them
      </Button>
    </div>
  )
}

function Counts({ logs: { counts, range, live, by, isOld, between, addCondition } }: { logs: Logs }) {
  return (
    <>
      <CountedNote sinceMs={counts.data?.sinceMs} />
      <Histogram
        counts={counts.data}
        isOld={counts.isPlaceholderData && (!live || isOld)}
        hasFailed={counts.isError}
        fromMs={range.fromMs}
        toMs={range.toMs}
        by={by}
        onRange={between}
        onSeries={(series) => {
          const condition = by && seriesCondition(by, series)
          return condition ? () => addCondition(condition) : undefined
        }}
      />
    </>
  )
}

function focusFirstEntry(): void {
  document.querySelector<HTMLElement>('#entries .entry')?.focus()
}
