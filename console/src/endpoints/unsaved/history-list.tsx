import { Button } from '../../ui/button.tsx'
import { ago, counted } from '../../ui/text/format.ts'
import { examples } from './examples.ts'
import type { useQueryHistory } from './query-history.ts'
import { noQuestion, type Question } from './question.ts'

interface HistoryListProps {
  history: ReturnType<typeof useQueryHistory>
  onChoose: (question: Question) => void
}

/** Questions that were run. Choosing one does not run it. */
export function HistoryList({ history: { list, remove, clear }, onChoose }: HistoryListProps) {
  if (list.length === 0)
    return <p className="faint">Queries that you run are listed here, in this browser only.</p>
  return (
    <div className="stack">
      <div className="tabs-line">
        <span className="faint">{counted(list.length, 'query', 'queries')}, in this browser only</span>
        <Button look="small" onClick={clear}>
          Clear
        </Button>
      </div>
      <ul className="past">
        {list.map(({ at, ...question }) => (
          <li key={question.query}>
            <button type="button" onClick={() => onChoose(question)}>
              <code>{question.query.slice(0, 400)}</code>
              <span className="faint">{[ago(at), ...valuesOf(question)].join(' · ')}</span>
            </button>
            <Button
              look="plain icon"
              aria-label={`Remove the query of ${ago(at)}`}
              title="Remove"
              onClick={() => remove(question.query)}
              icon="remove"
            />
          </li>
        ))}
      </ul>
    </div>
  )
}

function valuesOf({ values }: Question): string[] {
  return Object.entries(values).map(([name, value]) => `@${name} ${value.slice(0, 40)}`)
}

/** Shown before the first run. */
export function Examples({ onChoose }: Pick<HistoryListProps, 'onChoose'>) {
  return (
    <div className="empty">
      <h2>Start from an example</h2>
      <ul className="example-list">
        {examples.map(({ title, query }) => (
          <li key={title}>
            <Button look="link" onClick={() => onChoose({ ...noQuestion, query })}>
              {title}
            </Button>
          </li>
        ))}
      </ul>
    </div>
  )
}
