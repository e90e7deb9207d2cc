import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queries } from '../../api/queries.ts'
import type { Status, Usage } from '../../api/shapes.ts'
import { ownSources } from '../../ui/built-in/built-in.ts'
import { PageHead } from '../../ui/page-head.tsx'
import { bytes } from '../../ui/text/format.ts'
import { Callers, descriptionsOf } from '../callers.tsx'
import { Part } from '../part.tsx'
import { RequestCharts, StatisticsOff } from '../request-charts.tsx'
import { SlowRequests } from '../slow-requests.tsx'
import { RangeChoice, useRange } from '../time-range.tsx'
import { EndpointRankings } from './endpoint-rankings.tsx'
import { EntriesChart } from './entries-chart.tsx'
import { FirstEntry } from './first-entry.tsx'
import { ServiceState } from './service-state.tsx'
import { SourcesTable } from './sources-table.tsx'

export default function Overview() {
  const [range, setRange] = useRange('range')
  const [wasTried, setTried] = useState(false)
  const status = useQuery(queries.status())
  // Entries are counted by the minute, so five minutes are the end of an hour.
  const usage = useQuery(queries.usage(range === '5min' ? '1hr' : range))
  const requests = useQuery(queries.requests(range))
  const slow = useQuery(queries.slowCalls())
  const isOff = requests.data === null
  const recorded = { ...requests, data: requests.data ?? undefined }
  const isEmpty = usage.data?.sources.every(({ name, entries }) => entries === 0 || ownSources.has(name))
  return (
    <div className="page">
      <PageHead title="Overview" actions={<RangeChoice range={range} onChange={setRange} />} />
      <Alarms status={status.data} usage={usage.data} />
      {(isEmpty || wasTried) && <FirstEntry onTried={() => setTried(true)} />}
      <div className={isOff ? 'parts two' : 'parts three'}>
        {isOff ? (
          <StatisticsOff />
        ) : (
          <RequestCharts query={recorded} range={range} percentiles={['p50', 'p95']} />
        )}
        <EntriesChart query={usage} range={range} />
      </div>
      <ServiceState status={status} usage={usage} totals={recorded.data?.totals} />
      {!isOff && <EndpointRankings query={recorded} range={range} />}
      <div className="parts two">
        {!isOff && (
          <Part title="Top callers" query={recorded} height={120}>
            {(data) => <Callers requests={data} />}
          </Part>
        )}
        <Part title="Sources" query={usage} height={120}>
          {(data) => <SourcesTable usage={data} range={range} />}
        </Part>
      </div>
      {!isOff && <SlowRequests query={slow} callers={descriptionsOf(requests.data)} hasNames />}
    </div>
  )
}

/** Problems that need action now. */
function Alarms({ status, usage }: { status: Status | undefined; usage: Usage | undefined }) {
  const disk = usage?.disk
  return (
    <>
      {status && !status.ready && (
        <p className="note-box bad" role="alert">
          The service is not ready. {status.reason ?? status.engine.reason}
        </p>
      )}
      {disk && disk.free_bytes < disk.reserve_bytes && (
        <p className="note-box bad" role="alert">
          The disk is almost full: {bytes(disk.free_bytes)} are free, and {bytes(disk.reserve_bytes)} are
          reserved. New entries are rejected until there is space. Free space, or shorten the retention of
          sources.
        </p>
      )}
    </>
  )
}
