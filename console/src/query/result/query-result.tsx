import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useMemo, useState } from 'react'
import { api } from '../../api/api.ts'
import { type CallResult, queryPath } from '../../api/call-endpoint.ts'
import type { Column, QueryPlan } from '../../api/shapes.ts'
import { useWindowHeight } from '../../charts/use-window-height.ts'
import { Button } from '../../ui/button.tsx'
import { Choices } from '../../ui/choices.tsx'
import { SnippetTabs } from '../../ui/snippets/snippet.tsx'
import { agentSnippets, callSnippets, embedSnippet } from '../../ui/snippets/snippets.ts'
import { Empty, Failure, Loaded, Waiting } from '../../ui/states.tsx'
import { bytes, count, counted, milliseconds, seconds } from '../../ui/text/format.ts'
import { useAddress } from '../../ui/use-address.ts'
import { type Run, resultOf } from '../run/use-run.ts'
import type { Chart } from './chart-choice.ts'
import { Costs } from './costs.tsx'
import { Download, endpointFile, type FileRequest } from './download.tsx'
import { PlanText } from './plan-text.tsx'
import { ResultChart } from './result-chart.tsx'
import { ResultTable } from './result-table.tsx'

type View = 'table' | 'chart' | 'json' | 'call' | 'plan'

const views = [
  ['table', 'Table'],
  ['chart', 'Chart'],
  ['json', 'JSON'],
] as const

interface QueryResultProps {
  run: Run
  columns: readonly Column[]
  /** Undefined for a query that is not an endpoint. */
  name?: string
  values: Record<string, string>
  /** Whether the token can see the plan of the engine. */
  hasPlan?: boolean
  /** Whether to show what the run cost the service. */
  hasCost?: boolean
  /** Shown before the first run. */
  idle?: ReactNode
  /** Beside the cost of a run that is done. */
  actions?: ReactNode
  /** Requests the rows as a file. Default: from the endpoint. */
  file?: FileRequest
  /** The chart of the endpoint. */
  chart?: Chart | null
  /** Keeps a change of the chart. Without it, a change lasts until the page is left. */
  onChart?: (chart: Chart | null) => void
}

/** The result of a run in the chosen view, and what it cost. */
export function QueryResult(props: QueryResultProps) {
  const { run, columns, name, values, hasPlan = false, hasCost = true, idle, actions, onChart } = props
  const [address, setAddress] = useAddress()
  const [ownChart, setOwnChart] = useState(props.chart ?? null)
  const chart = onChart ? (props.chart ?? null) : ownChart
  const usual: View = chart === null || chart.type === 'table' ? 'table' : 'chart'
  const view = (address.get('_view') as View | null) ?? usual
  const [hasSettings, setSettings] = useState(false)
  const result = resultOf(run)
  const file = props.file ?? (name === undefined ? undefined : endpointFile(name, values))
  return (
    <section className="stack result" aria-label="Result" aria-busy={run.state === 'running'}>
      <div className="tabs-line result-bar">
        <Choices
          label="Show the result as"
          options={[
            ...views,
            ...(name === undefined ? [] : [['call', 'Request'] as const]),
            ...(hasPlan ? [['plan', 'Plan'] as const] : []),
          ]}
          value={view}
          onChange={(chosen) => setAddress({ _view: chosen === usual ? undefined : chosen }, 'replace')}
        />
        <Cost run={run} isWhole={hasCost} />
        <div className="actions">
          {run.state === 'done' && actions}
          {view === 'chart' && result && (
            <Button look="small" aria-expanded={hasSettings} onClick={() => setSettings(!hasSettings)}>
              Chart settings
            </Button>
          )}
          {run.state === 'done' && file && <Download name={name ?? 'rows'} file={file} />}
        </div>
      </div>
      {view === 'call' && name !== undefined ? (
        <SnippetTabs
          label="Request with"
          snippets={[
            ...callSnippets(location.origin, name, values),
            embedSnippet(location.origin, name, values),
            ...agentSnippets(location.origin),
          ]}
        />
      ) : view === 'plan' && name !== undefined && hasPlan ? (
        <EnginePlan name={name} values={values} />
      ) : run.state === 'failed' ? (
        <Failure error={run.error} />
      ) : result ? (
        <Rows
          result={result}
          columns={result.columns ?? columns}
          view={view}
          chart={chart}
          hasSettings={hasSettings}
          onChart={(next) => {
            // The usual view may be another one then.
            setAddress({ _view: 'chart' }, 'replace')
            ;(onChart ?? setOwnChart)(next)
          }}
        />
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
  chart: Chart | null
  hasSettings: boolean
  onChart: (chart: Chart | null) => void
}

/** Leaves room for what is above a chart, so that it is visible without scrolling. */
const aboveChart = 540

function Rows({ result: { rows }, columns, view, chart, hasSettings, onChart }: RowsProps) {
  const height = Math.min(480, Math.max(200, useWindowHeight() - aboveChart))
  if (rows.length === 0) {
    return (
      <Empty title="No rows">
        <p>No rows match these parameters.</p>
      </Empty>
    )
  }
  if (view === 'json') return <JsonText rows={rows} />
  if (view === 'chart') {
    return (
      <ResultChart
        rows={rows}
        columns={columns}
        chart={chart}
        onChange={onChart}
        hasSettings={hasSettings}
        height={height}
      />
    )
  }
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

function Cost({ run, isWhole }: { run: Run; isWhole: boolean }) {
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
      {isWhole && (
        <Costs
          costs={[
            ['', totalMs && milliseconds(totalMs), ' total'],
            ['engine', engineMs === undefined ? undefined : milliseconds(engineMs)],
            ['cache', cache, cache === 'hit' && ageSeconds !== undefined && `, ${seconds(ageSeconds)} old`],
            [
              'read',
              readRows === undefined ? undefined : count(readRows),
              ` rows${readBytes === undefined ? '' : `, ${bytes(readBytes)}`}`,
            ],
          ]}
        />
      )}
    </p>
  )
}

/** What the engine would read and do for this request. */
function EnginePlan({ name, values }: { name: string; values: Record<string, string> }) {
  const query = useQuery({
    queryKey: ['plan', name, values],
    queryFn: ({ signal }) => {
      return api<QueryPlan>(queryPath(name, { ...values, _explain: '1' }), { signal })
    },
    retry: false,
  })
  return (
    <Loaded query={query} what="the plan" height={240}>
      {(plan) => <PlanText plan={plan} />}
    </Loaded>
  )
}
