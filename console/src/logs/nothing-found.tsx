import { Button } from '../ui/button.tsx'
import { SnippetBox } from '../ui/snippets/snippet.tsx'
import { sendSnippets } from '../ui/snippets/snippets.ts'
import { conditionsIn, withoutCondition } from './search/conditions.ts'
import { relativeRanges, type TimeRange } from './time-range.ts'

interface NothingFoundProps {
  source: string
  query: string
  project: string | undefined
  range: TimeRange
  /** What the service knows about the reason. */
  notes: readonly string[]
  canSend: boolean
  ask: (changes: Record<string, string | undefined>) => void
}

/** Says that a search found nothing, and how to find more. */
export function NothingFound({ source, query, project, range, notes, canSend, ask }: NothingFoundProps) {
  const conditions = conditionsIn(query) ?? []
  const span = range.toMs - range.fromMs
  const longer = relativeRanges.filter(([, , ms]) => ms > span && ms >= 86_400_000)
  const fixed = { from: undefined, to: undefined }
  return (
    <section className="empty nothing-found" aria-label="No entries found">
      <h2>No entries found</h2>
      {notes.map((note) => (
        <p key={note}>{note}</p>
      ))}
      <div className="row" role="group" aria-label="Search more widely">
        {longer.map(([key, text]) => (
          <Button key={key} look="small" onClick={() => ask({ range: key, ...fixed })}>
            {text}
          </Button>
        ))}
        {project !== undefined && (
          <Button look="small" onClick={() => ask({ project: undefined })}>
            All projects
          </Button>
        )}
        {conditions.map((condition) => (
          <Button key={condition} look="small" onClick={() => ask({ q: withoutCondition(query, condition) })}>
            Remove <code>{condition}</code>
          </Button>
        ))}
        {query !== '' && conditions.length !== 1 && (
          <Button look="small" onClick={() => ask({ q: undefined })}>
            Remove the search
          </Button>
        )}
      </div>
      {canSend && query === '' && project === undefined && (
        <>
          <p>Or send an entry:</p>
          <SnippetBox label="Send an entry" text={sendSnippets(location.origin, source)[0]?.text ?? ''} />
        </>
      )}
    </section>
  )
}
