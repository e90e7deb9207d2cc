import type { Replay, ReplayedRequest } from '../api/shapes.ts'
import { counted } from '../ui/text/format.ts'

/** A change that reads this many times as many rows is worth a question, if the difference is large enough to matter. */
const muchMore = 2
const minMoreRows = 100_000

export function readsMuchMore({ before, after }: ReplayedRequest): boolean {
  if (before.rows_read === null || after.rows_read === null) return false
  return after.rows_read >= before.rows_read * muchMore && after.rows_read - before.rows_read >= minMoreRows
}

/** Whether the author should see the request before the change is saved. */
export function isNoteworthy(request: ReplayedRequest): boolean {
  return request.outcome !== 'same' || readsMuchMore(request)
}

/** One sentence about all requests. */
export function replaySummary({ requests, skipped }: Replay): string {
  const number = (test: (request: ReplayedRequest) => boolean) => requests.filter(test).length
  const different = number(({ outcome }) => outcome === 'different')
  const failed = number(({ outcome }) => outcome === 'failed')
  const heavier = number(readsMuchMore)
  const parts = [
    different > 0 ? `${different} ${different === 1 ? 'returns' : 'return'} different rows` : '',
    failed > 0 ? `${failed} ${failed === 1 ? 'fails' : 'fail'}` : '',
    heavier > 0 ? `${heavier} ${heavier === 1 ? 'reads' : 'read'} much more` : '',
  ].filter((part) => part !== '')
  const rest = skipped > 0 ? ` ${counted(skipped, 'more request')} took too long to try.` : ''
  const of = counted(requests.length, 'recent request')
  if (requests.length === 0) return `There are no recent requests to try.${rest}`
  if (parts.length > 0) return `Of ${of}, ${parts.join(', ')}.${rest}`
  return `${requests.length === 1 ? 'The recent request returns' : `All ${of} return`} the same rows.${rest}`
}

/** What differs, such as "2 rows removed, 1 row added". */
export function differenceText(request: ReplayedRequest): string {
  const { added_rows: added, removed_rows: removed, reordered } = request
  const parts = [
    removed > 0 ? `${counted(removed, 'row')} removed` : '',
    added > 0 ? `${counted(added, 'row')} added` : '',
    reordered ? 'different order' : '',
  ]
  return parts.filter((part) => part !== '').join(', ')
}
