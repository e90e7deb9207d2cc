import { useQuery } from '@tanstack/react-query'
import { countFacets, type EntryFilter } from '../api/entry-search.ts'
import { Button } from '../ui/button.tsx'
import { SnippetBox } from '../ui/snippets/snippet.tsx'
import { sendSnippets } from '../ui/snippets/snippets.ts'
import { showInstant, useZone } from '../ui/text/instants.ts'
import { conditionsIn, withoutCondition } from './search/conditions.ts'
import { corrected } from './search/corrections.ts'
import { facetsOf } from './source-fields.ts'
import { relativeRanges, type TimeRange } from './time-range.ts'

interface NothingFoundProps {
  search: EntryFilter
  columns: Parameters<typeof facetsOf>[1]
  range: TimeRange
  /** What the service knows about the reason. */
  notes: readonly string[]
  /** The newest entry of any time, in microseconds, where the range has none. */
  newest: number | null
  canSend: boolean
  ask: (changes: Record<string, string | undefined>) => void
}

const dayMs = 86_400_000
const aroundNewestMs = 1_800_000

/** Says that a search found nothing, and how to find more. */
export function NothingFound({ search, columns, range, notes, newest, canSend, ask }: NothingFoundProps) {
  const zone = useZone()
  const { source, query, project } = search
  const conditions = conditionsIn(query) ?? []
  const span = range.toMs - range.fromMs
  const longer = relativeRanges.filter(([, , ms]) => ms > span && ms >= dayMs)
  const fixed = { from: undefined, to: undefined }
  const meant = useMeant(search, columns, range)
  const showNewest = (micros: number) => {
    const [from, to] = [-aroundNewestMs, 1_000].map((ms) => new Date(micros / 1000 + ms).toISOString())
    ask({ from, to, range: undefined, live: undefined })
  }
  return (
    <section className="empty nothing-found" aria-label="No entries found">
      <h2>No entries found</h2>
      {notes.map((note) => (
        <p key={note}>{note}</p>
      ))}
      <div className="row" role="group" aria-label="Search more widely">
        {meant !== undefined && (
          <Button look="small primary" onClick={() => ask({ q: meant })}>
            Search <code>{meant}</code>
          </Button>
        )}
        {newest !== null && (
          <Button look="small primary" onClick={() => showNewest(newest)}>
            Go to the newest, {showInstant(newest / 1000, zone, 'short')}
          </Button>
        )}
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
      {canSend && query === '' && project === undefined && newest === null && (
        <>
          <p>Or send an entry:</p>
          <SnippetBox label="Send an entry" text={sendSnippets(location.origin, source)[0]?.text ?? ''} />
        </>
      )}
    </section>
  )
}

/** What the query was probably meant to be, by the fields that entries of the last week have. */
function useMeant(
  { source, project, query }: EntryFilter,
  columns: NothingFoundProps['columns'],
  range: TimeRange,
) {
  const { data } = useQuery({
    queryKey: ['known-fields', source, project, Math.floor(range.fromMs / dayMs)],
    queryFn: ({ signal }) =>
      countFacets(
        { source, project, query: '' },
        { fromMs: range.fromMs - 7 * dayMs, toMs: range.toMs },
        signal,
      ),
    enabled: query !== '',
    staleTime: 60_000,
  })
  const names = data ? facetsOf(data, columns).map(({ field }) => field) : []
  return corrected(query, [...columns.map(({ name }) => name), ...names])
}
