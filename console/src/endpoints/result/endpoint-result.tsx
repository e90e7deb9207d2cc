import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useMemo } from 'react'
import { api, at } from '../../api/api.ts'
import type { CallResult } from '../../api/call-endpoint.ts'
import type { Column, Plan } from '../../api/shapes.ts'
import { Choices, ZoneChoice } from '../../ui/choices.tsx'
import { bytes, count, counted, milliseconds, seconds } from '../../ui/format.ts'
import { SnippetTabs } from '../../ui/snippet.tsx'
import { callSnippets } from '../../ui/snippets.ts'
import { Empty, Failure, Loaded, Waiting } from '../../ui/states.tsx'
import { useAddress } from '../../ui/use-address.ts'
import { type Run, resultOf } from '../run/use-run.ts'
import { ResultChart } from './result-chart.tsx'
import { ResultTable } from './result-table.tsx'

type View = 'table' | 'chart' | 'json' | 'call' | 'plan'

const views = [
  ['table', 'Table'],
  ['chart', 'Chart'],
  ['json', 'JSON'],
] as const

interface EndpointResultProps {
  run: Run
  columns: readonly Column[]
  /** Undefined for a query that is not an endpoint. */
  name?: string
  values: Record<string, string>
  /** Whether the token can see the plan of the engine. */
  hasPlan?: boolean
  /** Shown before the first run. */
  idle?: ReactNode
  /** Beside the cost of a run that is done. */
  actions?: ReactNode
}

/** The result of a run in the chosen view, and what it cost. */
export function EndpointResult(props: EndpointResultProps) {
  const { run, columns, name, values, hasPlan = false, idle, actions } = props
  const [address, setAddress] = useAddress()
  const view = (address.get('_view') as View | null) ?? 'table'
  const result = resultOf(run)
  return (
    <section className="stack" aria-label="Result" aria-busy={run.state === 'running'}>
      <div className="tabs-line">
        <Choices
          label="Show the result as"
          options={[
            ...views,
            ...(name === undefined ? [] : [['call', 'Request'] as const]),
            ...(hasPlan ? [['plan', 'Plan'] as const] : []),
          ]}
          value={view}
          onChange={(chosen) => setAddress({ _view: chosen === 'table' ? undefined : chosen }, 'replace')}
        />
        <ZoneChoice />
      </div>
      <div className="tabs-line">
        <Cost run={run} />
        {run.state === 'done' && actions}
      </div>
      {view === 'call' && name !== undefined ? (
        <SnippetTabs label="Request with" snippets={callSnippets(location.origin, name, values)} />
      ) : view === 'plan' && name !== undefined && hasPlan ? (
        <EnginePlan name={name} values={values} />
      ) : run.state === 'failed' ? (
        <Failure error={run.error} />
      ) : result ? (
        <Rows result={result} columns={result.columns ?? columns} view={view} />
      ) : run.state === 'running' ? (
        <Waiting what="the result" height={280} />
      ) : (
        (idle ?? (
          <Empty title="Not run yet">
            <p>Run the query to see its rows.</p>
          </Empty>
        ))
      )}
    </section>
  )
}

/** Marks rows that the query and the values on the page did not return. */
export function RowsFromBefore() {
  return <span className="badge warn">Rows from before your changes</span>
}

interface RowsProps {
  result: CallResult
  columns: readonly Column[]
  view: View
}

function Rows({ result: { rows }, columns, view }: RowsProps) {
  if (rows.length === 0) {
    return (
      <Empty title="No rows">
        <p>No rows match these parameters.</p>
      </Empty>
    )
  }
  if (view === 'json') return <JsonText rows={rows} />
  if (view === 'chart') return <ResultChart rows={rows} columns={columns} />
  return <ResultTable rows={rows} columns={columns} />
}

const maxJsonRows = 200

function JsonText({ rows }: { rows: CallResult['rows'] }) {
  const text = useMemo(() => JSON.stringify(rows.slice(0, maxJsonRows), null, 2), [rows])
  return (
    <>
      <pre className="json-text" tabIndex={0} role="region" aria-label="Result as JSON">
        {text}
      </pre>
      {rows.length > maxJsonRows && (
        <p className="faint">
          First {maxJsonRows} of {count(rows.length)} rows.
        </p>
      )}
    </>
  )
}

function Cost({ run }: { run: Run }) {
  if (run.state !== 'done') {
    return (
      <p className="cost" role="status">
        {run.state === 'running' && 'Running …'}
      </p>
    )
  }
  const { rows, truncated, cache, ageSeconds, engineMs, totalMs, readRows, readBytes } = run.result
  return (
    <p className="cost" role="status">
      <span>
        <b>{counted(rows.length, 'row')}</b>
        {truncated && <span className="badge warn">cut at the row limit</span>}
      </span>
      {totalMs !== undefined && (
        <span>
          <b>{milliseconds(totalMs)}</b> total
        </span>
      )}
      {engineMs !== undefined && (
        <span>
          engine <b>{milliseconds(engineMs)}</b>
        </span>
      )}
      {cache !== undefined && (
        <span>
          cache <b>{cache}</b>
          {cache === 'hit' && ageSeconds !== undefined ? `, ${seconds(ageSeconds)} old` : ''}
        </span>
      )}
      {readRows !== undefined && (
        <span>
          read <b>{count(readRows)}</b> rows{readBytes !== undefined && `, ${bytes(readBytes)}`}
        </span>
      )}
    </p>
  )
}

/** What the engine would read and do for this request. */
function EnginePlan({ name, values }: { name: string; values: Record<string, string> }) {
  const query = useQuery({
    queryKey: ['plan', name, values],
    queryFn: ({ signal }) => {
      const parameters = new URLSearchParams({ ...values, _strict: '1', _explain: '1' })
      return api<Plan>(`/api/endpoints/query/${at(name)}?${parameters}`, { signal })
    },
    retry: false,
  })
  return (
    <Loaded query={query} what="the plan" height={240}>
      {({ plan, reads }) => (
        <>
          <ul>
            {reads.map(({ table, rows, parts }) => (
              <li key={table}>
                Reads up to <b>{counted(rows, 'row')}</b> of <code>{table}</code> in {counted(parts, 'part')}.
              </li>
            ))}
            {reads.length === 0 && <li>Reads no source.</li>}
          </ul>
          <pre className="json-text" tabIndex={0} role="region" aria-label="Plan of the engine">
            {plan}
          </pre>
        </>
      )}
    </Loaded>
  )
}
