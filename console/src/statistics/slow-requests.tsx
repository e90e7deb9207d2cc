import { Fragment, useState } from 'react'
import type { SlowRequest } from '../api/shapes.ts'
import { Costs } from '../query/result/costs.tsx'
import { Button } from '../ui/button.tsx'
import { Choices } from '../ui/choices.tsx'
import { NameLink, Table } from '../ui/table.tsx'
import { milliseconds } from '../ui/text/format.ts'
import { showInstant, useZone } from '../ui/text/instants.ts'
import { toggled } from '../ui/toggled.ts'
import { useAddress } from '../ui/use-address.ts'
import { callerName, type Descriptions } from './callers.tsx'
import { toneOf } from './error-codes.tsx'
import { ErrorHelp } from './error-help.tsx'
import { Part } from './part.tsx'
import { usageLink } from './time-range.tsx'

interface SlowRequestsProps {
  query: { data: SlowRequest[] | undefined; error: Error | null; refetch: () => unknown }
  /** Descriptions of tokens by their ids. */
  callers: Descriptions
  /** Whether the requests are of several endpoints. */
  hasNames?: boolean
}

/** The slowest and the failed requests of the last hour, each with what explains it. */
export function SlowRequests({ query, callers, hasNames = false }: SlowRequestsProps) {
  const [address, setAddress] = useAddress()
  const failed = (query.data ?? []).filter(({ code }) => code !== null)
  const slow = (query.data ?? []).filter(({ code }) => code === null)
  const wanted = address.get('_requests') ?? (slow.length === 0 && failed.length > 0 ? 'failed' : 'slow')
  const list = wanted === 'failed' ? 'failed' : 'slow'
  const shown = list === 'failed' ? failed : slow
  const options = [
    ['slow', `Slowest (${slow.length})`],
    ['failed', `Failed (${failed.length})`],
  ] as const
  return (
    <Part
      title="Slowest and failed requests"
      query={query}
      height={160}
      aside={
        query.data && (
          <Choices
            label="Requests"
            options={options}
            value={list}
            onChange={(chosen) =>
              setAddress({ _requests: chosen === 'slow' ? undefined : chosen }, 'replace')
            }
          />
        )
      }
    >
      {() =>
        shown.length === 0 ? (
          <p className="card-body soft">
            {list === 'failed'
              ? 'No request failed in the last hour.'
              : 'No request reached the engine in the last hour.'}
          </p>
        ) : (
          <RequestTable key={list} requests={shown} callers={callers} hasNames={hasNames} />
        )
      }
    </Part>
  )
}

const columns = [
  ['Request'],
  ['Response', 'optional'],
  ['Caller', 'optional'],
  ['Engine', 'right optional'],
  ['Duration', 'right'],
  ['Details', 'right'],
] as const

const firstRows = 8

interface RequestTableProps {
  requests: readonly SlowRequest[]
  callers: Descriptions
  hasNames: boolean
}

function RequestTable({ requests, callers, hasNames }: RequestTableProps) {
  const zone = useZone()
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const [showsAll, setShowsAll] = useState(false)
  return (
    <>
      <Table columns={columns}>
        {requests.slice(0, showsAll ? undefined : firstRows).map((request) => {
          const { request_id: id, endpoint, status, code, engine_ms, duration_ms } = request
          const isOpen = open.has(id)
          const response = code === null ? String(status) : `${status} ${code}`
          const at = showInstant(Date.parse(request.at), zone, 'seconds')
          const caller = callerName(request.token_id, callers)
          return (
            <Fragment key={id}>
              <tr>
                <td>
                  {hasNames && (
                    <NameLink
                      href={usageLink(endpoint, '1hr', code === null ? undefined : 'failed')}
                      name={endpoint}
                    />
                  )}
                  <div className={hasNames ? 'under number' : 'number nowrap'}>{at}</div>
                  <div className="under narrow-only">{response}</div>
                </td>
                <td className="optional">
                  <span className={`badge ${toneOf(status)}`}>{response}</span>
                </td>
                <td className="optional">{caller}</td>
                <td className="right optional">{milliseconds(engine_ms)}</td>
                <td className="right">{milliseconds(duration_ms)}</td>
                <td className="right">
                  <Button
                    look="small"
                    aria-expanded={isOpen}
                    aria-label={`Details of the request at ${at}`}
                    onClick={() => setOpen(toggled(open, id))}
                  >
                    {isOpen ? 'Hide' : 'Details'}
                  </Button>
                </td>
              </tr>
              {isOpen && (
                <tr className="unfolded">
                  <td colSpan={columns.length}>
                    <RequestDetails request={request} caller={caller} />
                  </td>
                </tr>
              )}
            </Fragment>
          )
        })}
      </Table>
      {!showsAll && requests.length > firstRows && (
        <p className="card-body">
          <Button look="link" onClick={() => setShowsAll(true)}>
            Show all {requests.length}
          </Button>
        </p>
      )}
    </>
  )
}

function RequestDetails({ request, caller }: { request: SlowRequest; caller: string }) {
  const { code, request_id, version, cache, engine_ms } = request
  return (
    <div className="stack">
      {code !== null && (
        <p>
          <code>{code}</code>: <ErrorHelp code={code} />
        </p>
      )}
      <p className="cost">
        <Costs
          costs={[
            ['version', version],
            ['cache', cache],
            ['engine', milliseconds(engine_ms)],
            ['caller', caller],
          ]}
        />
        <span>
          request <code>{request_id}</code>
        </span>
      </p>
    </div>
  )
}
