import { useState } from 'react'
import { hasFeature } from '../../api/features.ts'
import { useMayChange } from '../../api/use-may-change.ts'
import { SqlEditor } from '../../query/editor/sql-editor.tsx'
import { Verdict } from '../../query/editor/verdict.tsx'
import { WarningList } from '../../query/editor/warning-list.tsx'
import { QueryResult, RowsFromBefore } from '../../query/result/query-result.tsx'
import { BigQueryField } from '../../supabase/bigquery-field.tsx'
import { Button } from '../../ui/button.tsx'
import { Empty, Waiting } from '../../ui/states.tsx'
import { Examples } from '../unsaved/history-list.tsx'
import { AlertOnThis } from './alert-on-this.tsx'
import { ColumnSuggestions } from './column-suggestions.tsx'
import { ParameterPanel } from './parameter-panel.tsx'
import type { Workbench } from './use-workbench.ts'

interface QueryPartProps {
  work: Workbench
  /** Whether to offer the translation of BigQuery SQL. */
  hasBigQuery?: boolean
}

/** The SQL, its parameters and its result. */
export function QueryPart({ work, hasBigQuery = false }: QueryPartProps) {
  const { mode, saved, draft, isBlank, isDraft, checked, problem, warnings, values, setDraft } = work
  const { run } = work.runner
  const mayChange = useMayChange()
  const [isTall, setTall] = useState(false)
  const [isBigQuery, setBigQuery] = useState(false)
  const write = (query: string) => setDraft((now) => ({ ...now, query }))
  const format = async () => {
    const { formatSql } = await import('../../query/editor/format-sql.ts')
    setDraft((now) => ({ ...now, query: formatSql(now.query) }))
  }
  return (
    <>
      {isBigQuery && <BigQueryField onTranslated={write} onRun={work.begin} />}
      <div className="workbench">
        <div className={isTall ? 'query-box tall' : 'query-box'}>
          <SqlEditor
            label="SQL of the endpoint"
            height={140}
            value={draft.query}
            control={work.editor}
            onChange={write}
            onRun={work.begin}
            problem={isBlank ? undefined : work.marked}
            warnings={warnings}
            names={work.names}
          />
          <div className="query-foot">
            <Verdict
              problem={isBlank ? undefined : problem}
              query={draft.query}
              onFix={write}
              state={
                !isDraft || isBlank ? '' : work.waiting ? 'Checking …' : checked ? 'The query is valid.' : ''
              }
            />
            {hasBigQuery && (
              <Button
                look="link"
                aria-pressed={isBigQuery}
                title="Translate a query from Supabase Studio"
                onClick={() => setBigQuery(!isBigQuery)}
              >
                BigQuery
              </Button>
            )}
            <Button look="link" disabled={isBlank} onClick={format}>
              Format
            </Button>
            <Button look="link" aria-pressed={isTall} onClick={() => setTall(!isTall)}>
              Expand
            </Button>
          </div>
          <WarningList warnings={warnings} />
        </div>
        <ParameterPanel work={work} />
      </div>
      {saved && !isDraft && <ColumnSuggestions saved={saved} run={run} />}
      <QueryResult
        run={run}
        columns={isDraft ? (checked?.columns ?? []) : (saved?.columns ?? [])}
        {...(mode !== 'playground' && { name: draft.name || 'my-endpoint' })}
        hasPlan={!isDraft}
        values={values}
        chart={draft.chart}
        onChart={(chart) => setDraft((now) => ({ ...now, chart }))}
        {...(work.file && { file: work.file })}
        idle={<NotRun work={work} />}
        actions={
          <>
            {work.isEdited && <RowsFromBefore />}
            {saved && !isDraft && mayChange && hasFeature('alerts') && (
              <AlertOnThis endpoint={saved} chart={draft.chart} values={values} />
            )}
          </>
        }
      />
    </>
  )
}

/** Why there are no rows yet. */
function NotRun({ work: { isBlank, runner, missing, ask } }: { work: Workbench }) {
  if (isBlank) return <Examples onChoose={ask} />
  if (runner.isStarting) return <Waiting what="the result" height={280} />
  return (
    <Empty title="Not run yet">
      <p>
        {missing.length > 0
          ? `Enter a value for ${missing.join(' and ')}, then run the query.`
          : 'Run the query to see its rows.'}
      </p>
    </Empty>
  )
}
