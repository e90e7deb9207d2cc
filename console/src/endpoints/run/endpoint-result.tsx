import { useMemo } from 'react'
import type { Column } from '../../api/api-types.ts'
import type { CallResult } from '../../api/call-endpoint.ts'
import { Choices } from '../../ui/choices.tsx'
import { bytes, count, milliseconds, seconds } from '../../ui/format.ts'
import { SnippetTabs } from '../../ui/snippet.tsx'
import { callSnippets } from '../../ui/snippets.ts'
import { Empty, Failure, Waiting } from '../../ui/states.tsx'
import { ZoneChoice } from '../../ui/zone-choice.tsx'
import { ResultChart } from '../result/result-chart.tsx'
import { ResultTable } from '../result/result-table.tsx'
import { EndpointPlan } from './endpoint-plan.tsx'
import type { Run } from './use-run.ts'

export type ResultView = 'table' | 'chart' | 'json' | 'call' | 'plan'

const views = [
  ['table', 'Table'],
  ['chart', 'Chart'],
  ['json', 'JSON'],
  ['call', 'Call it'],
] as const

export interface EndpointResultProps {
  run: Run
  columns: readonly Column[]
  name: string
  values: Record<string, string>
  /** The endpoint whose plan can be asked for; undefined where there is none, or it may not. */
  planOf?: string | undefined
  view: ResultView
  onView: (view: ResultView) => void
}

/** What a run gave, in the form that the reader chose, and what it cost. */
export function EndpointResult(props: EndpointResultProps) {
  const { run, columns, name, values, planOf, view, onView } = props
  const result = run.state === 'done' ? run.result : run.state === 'running' ? run.before : undefined
  return (
    <section className="stack" aria-label="Result" aria-busy={run.state === 'running'}>
      <div className="tabs-line">
        <Choices
          label="Show the result as"
          options={planOf === undefined ? views : [...views, ['plan', 'Plan']]}
          value={view}
          onChange={onView}
        />
        <ZoneChoice />
      </div>
      <Cost run={run} result={result} />
      {view === 'call' ? (
        <SnippetTabs label="The call as" snippets={callSnippets(location.origin, name, values)} />
      ) : view === 'plan' && planOf !== undefined ? (
        <EndpointPlan name={planOf} values={values} />
      ) : run.state === 'failed' ? (
        <Failure error={run.error} />
      ) : result ? (
        <Shown result={result} columns={result.columns ?? columns} view={view} />
      ) : run.state === 'running' ? (
        <Waiting what="the result" height={280} />
      ) : (
        <Empty title="Not run yet">
          <p>Run the query to see its rows here.</p>
        </Empty>
      )}
    </section>
  )
}

function Shown({
  result,
  columns,
  view,
}: {
  result: CallResult
  columns: readonly Column[]
  view: ResultView
}) {
  const { rows } = result
  if (rows.length === 0) {
    return (
      <Empty title="No rows">
        <p>The query ran, and nothing matched these parameters.</p>
      </Empty>
    )
  }
  if (view === 'json') return <JsonText rows={rows} />
  if (view === 'table') return <ResultTable rows={rows} columns={columns} />
  return <ResultChart rows={rows} columns={columns} />
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
          The first {maxJsonRows} of {count(rows.length)} rows.
        </p>
      )}
    </>
  )
}

function Cost({ run, result }: { run: Run; result: CallResult | undefined }) {
  if (run.state === 'running') {
    return (
      <p className="cost" role="status">
        Running …
      </p>
    )
  }
  if (run.state !== 'done' || !result) return <p className="cost" />
  const { rows, truncated, cache, ageSeconds, engineMs, totalMs, readRows, readBytes } = result
  return (
    <p className="cost" role="status">
      <span>
        <b>{count(rows.length)}</b> {rows.length === 1 ? 'row' : 'rows'}
        {truncated && <span className="badge warn">cut at the limit</span>}
      </span>
      <span>
        <b>{milliseconds(totalMs)}</b> in all
      </span>
      {engineMs !== undefined && (
        <span>
          engine <b>{milliseconds(engineMs)}</b>
        </span>
      )}
      <span>
        cache <b>{cache}</b>
        {cache === 'hit' && ageSeconds !== undefined ? `, ${seconds(ageSeconds)} old` : ''}
      </span>
      {readRows !== undefined && (
        <span>
          read <b>{count(readRows)}</b> rows{readBytes !== undefined && `, ${bytes(readBytes)}`}
        </span>
      )}
    </p>
  )
}
