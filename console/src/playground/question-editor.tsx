import { type ReactNode, type Ref, type RefObject, useMemo, useState } from 'react'
import { previewEndpoint } from '../api/call-endpoint.ts'
import type { DraftCheck } from '../api/shapes.ts'
import { SqlEditor } from '../endpoints/editor/sql-editor.tsx'
import type { SqlEditorControl } from '../endpoints/editor/sql-editor-view.tsx'
import { useSqlNames } from '../endpoints/editor/use-sql-names.ts'
import { Verdict } from '../endpoints/editor/verdict.tsx'
import { type SqlWarning, WarningList } from '../endpoints/editor/warning-list.tsx'
import { newDraft } from '../endpoints/endpoint-draft.ts'
import type { Chart } from '../endpoints/result/chart-choice.ts'
import { previewFile } from '../endpoints/result/download.tsx'
import { EndpointResult, RowsFromBefore } from '../endpoints/result/endpoint-result.tsx'
import { RunButton } from '../endpoints/run/parameter-form.tsx'
import { parametersIn } from '../endpoints/run/sql-parameters.ts'
import { useParameterValues } from '../endpoints/run/use-parameter-values.ts'
import { resultOf, useRun } from '../endpoints/run/use-run.ts'
import { useDraftCheck } from '../endpoints/use-draft-check.ts'
import { BigQueryField } from './bigquery-field.tsx'
import { ParameterFields } from './parameter-fields.tsx'
import { type Question, triedParameters } from './question.ts'
import type { ShownResult } from './save-as-endpoint.tsx'

interface QuestionEditorProps {
  question: Question
  /** Whether the service translates BigQuery SQL. */
  hasBigQuery: boolean
  control: Ref<SqlEditorControl>
  /** Receives the result that is shown. */
  shown: RefObject<ShownResult | undefined>
  /** Shown before the first run. */
  start: ReactNode
  chart: Chart | null
  onChart: (chart: Chart | null) => void
  onChange: (fields: Partial<Question>) => void
  onRun: (question: Question) => void
}

/** The page shows fewer. */
const maxFileRows = 10_000

const noWarnings: readonly SqlWarning[] = []

/** The SQL, its parameters and its result. */
export function QuestionEditor(props: QuestionEditorProps) {
  const { question, hasBigQuery, control, shown, start, chart, onChart, onChange, onRun } = props
  const { query, types } = question
  const isBlank = query.trim() === ''
  const names = useMemo(() => parametersIn(query), [query])
  const { names: sqlNames, seenAt, isPending } = useSqlNames(query)
  const required = useMemo(() => Object.fromEntries(names.map((name) => [name, { required: true }])), [names])
  const kept = useMemo(() => new URLSearchParams(question.values), [question.values])
  const parameterValues = useParameterValues(required, seenAt, {
    isPending,
    store: [kept, (changes) => onChange({ values: merged(question.values, changes) })],
  })
  const { values, change } = parameterValues
  const asked = useMemo(() => ({ query, values, types }), [query, values, types])
  const parameters = useMemo(() => triedParameters(asked), [asked])
  const draft = useMemo(() => ({ ...newDraft, query, parameters }), [query, parameters])
  const { checked, problem, marked, waiting } = useDraftCheck(draft, true)
  const warnings = useMemo(
    () => (isBlank || problem ? noWarnings : warningsOf(checked)),
    [isBlank, problem, checked],
  )
  const [isBigQuery, setBigQuery] = useState(false)
  const [ran, setRan] = useState(question)
  const runner = useRun(
    async (signal) => {
      onRun(asked)
      const result = await previewEndpoint({ query, parameters }, values, signal)
      // A run that is stopped leaves the rows of the one before.
      if (!signal.aborted) setRan(asked)
      return result
    },
    parameterValues,
    { asked: JSON.stringify(asked), hasShortcut: !isBlank },
  )
  const { run, begin, stop } = runner
  const result = resultOf(run)
  shown.current = result && { result, ran }
  const isEdited = JSON.stringify(ran) !== JSON.stringify(asked)
  const editorNames = useMemo(() => ({ ...sqlNames, parameters: [...names, 'now'] }), [sqlNames, names])
  const format = async () => {
    const { formatSql } = await import('../endpoints/editor/format-sql.ts')
    onChange({ query: formatSql(query) })
  }
  return (
    <>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (!isBlank) begin()
        }}
      >
        {isBigQuery && (
          <BigQueryField onTranslated={(sql) => onChange({ query: sql })} onRun={() => !isBlank && begin()} />
        )}
        <SqlEditor
          label="SQL"
          height={180}
          value={query}
          control={control}
          onChange={(text) => onChange({ query: text })}
          onRun={() => !isBlank && begin()}
          problem={isBlank ? undefined : marked}
          warnings={warnings}
          names={editorNames}
        />
        {names.length > 0 && (
          <ParameterFields
            names={names}
            question={question}
            values={values}
            problem={runner.problem}
            seenAt={seenAt}
            onValue={change}
            onType={(name, type) => onChange({ types: merged(types, { [name]: type }) })}
          />
        )}
        <div className="run-bar">
          <RunButton run={run} stop={stop} />
          <button type="button" className="button small" disabled={isBlank} onClick={format}>
            Format
          </button>
          {hasBigQuery && (
            <button
              type="button"
              className="button small"
              aria-pressed={isBigQuery}
              title="Translate a query from Supabase Studio"
              onClick={() => setBigQuery((now) => !now)}
            >
              BigQuery
            </button>
          )}
          <Verdict
            problem={isBlank ? undefined : problem}
            state={isBlank ? '' : waiting ? 'Checking …' : checked ? 'The query is valid.' : ''}
          />
        </div>
      </form>
      <WarningList warnings={warnings} />
      <EndpointResult
        run={run}
        columns={[]}
        values={values}
        idle={start}
        chart={chart}
        onChart={onChart}
        file={previewFile(
          { query: ran.query, parameters: triedParameters(ran), max_rows: maxFileRows },
          ran.values,
        )}
        actions={isEdited && <RowsFromBefore />}
      />
    </>
  )
}

/** Every parameter has a field here, so none of them is declared by hand. */
function warningsOf(checked: DraftCheck | undefined): readonly SqlWarning[] {
  const { warnings = noWarnings } = checked ?? {}
  return warnings.filter(({ code }) => code !== 'undeclared_parameter')
}

/** Undefined removes a name. */
function merged<T extends string>(
  now: Readonly<Record<string, T>>,
  changes: Record<string, T | undefined>,
): Record<string, T> {
  const all = Object.entries({ ...now, ...changes })
  return Object.fromEntries(all.filter((pair): pair is [string, T] => pair[1] !== undefined))
}
