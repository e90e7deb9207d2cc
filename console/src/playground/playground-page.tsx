import { useRef, useState } from 'react'
import type { Whoami } from '../api/shapes.ts'
import type { SqlEditorControl } from '../endpoints/editor/sql-editor-view.tsx'
import type { Chart } from '../endpoints/result/chart-choice.ts'
import { Choices } from '../ui/choices.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Examples, HistoryList } from './history-list.tsx'
import { LinkButton } from './link-button.tsx'
import { useQueryHistory } from './query-history.ts'
import type { Question } from './question.ts'
import { QuestionEditor } from './question-editor.tsx'
import { SaveAsEndpoint, type ShownResult } from './save-as-endpoint.tsx'
import { SchemaBrowser } from './schema-browser.tsx'
import { useQuestion } from './use-question.ts'

const panels = [
  ['schema', 'Schema'],
  ['history', 'History'],
] as const

type Panel = (typeof panels)[number][0]

/** A place for questions that are not endpoints, yet. */
export default function PlaygroundPage({ who }: { who: Whoami }) {
  const editor = useRef<SqlEditorControl>(null)
  const shown = useRef<ShownResult>(undefined)
  const [chart, setChart] = useState<Chart | null>(null)
  const [panel, setPanel] = useState<Panel>('schema')
  const [isOpen, setOpen] = useState(() => matchMedia('(min-width: 821px)').matches)
  const history = useQueryHistory(who.id)
  const { question, origin, change } = useQuestion(who.id)
  const set = (fields: Partial<Question>) => change((now) => ({ ...now, ...fields }))
  const choose = (chosen: Question) => {
    change(() => chosen)
    editor.current?.focus()
  }
  return (
    <div className="page">
      <PageHead
        title="Playground"
        actions={
          <>
            <LinkButton question={question} />
            <SaveAsEndpoint question={question} shown={() => shown.current} chart={chart} />
          </>
        }
      >
        <p>Ask a question in SQL. Save it as an endpoint when it is right.</p>
      </PageHead>
      <div className={isOpen ? 'playground' : 'playground closed'}>
        <aside className="stack" aria-label="Schema and history">
          <div className="tabs-line">
            {isOpen && <Choices label="Show" options={panels} value={panel} onChange={setPanel} />}
            <button
              type="button"
              className="button small"
              aria-expanded={isOpen}
              onClick={() => setOpen((now) => !now)}
            >
              {isOpen ? 'Hide' : 'Schema and history'}
            </button>
          </div>
          <div hidden={!isOpen || panel !== 'schema'}>
            <SchemaBrowser onInsert={(name) => editor.current?.insert(name)} />
          </div>
          {isOpen && panel === 'history' && <HistoryList history={history} onChoose={choose} />}
        </aside>
        <div className="stack">
          {origin === 'link' && (
            <p className="note-box" role="status">
              This query comes from a link. Read it before you run it.
            </p>
          )}
          {origin === 'damaged link' && (
            <p className="note-box bad" role="alert">
              The link is damaged, so its query cannot be shown. Copy it again.
            </p>
          )}
          <QuestionEditor
            question={question}
            hasBigQuery={who.bigquery}
            onChange={set}
            control={editor}
            shown={shown}
            chart={chart}
            onChart={setChart}
            onRun={history.remember}
            start={question.query.trim() === '' ? <Examples onChoose={choose} /> : undefined}
          />
        </div>
      </div>
    </div>
  )
}
