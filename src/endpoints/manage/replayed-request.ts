import { invalidParameter, invalidQuery, type WellheadError } from '../../base/errors.ts'
import { isSame, type RowDifference } from './row-difference.ts'

export interface RecentRequest {
  parameters: Readonly<Record<string, string>>
  project: string | undefined
  format: string
  uses: number
}

export interface Run {
  /** Rows of the format NDJSON. Undefined if it failed. */
  body: Buffer | undefined
  rows: number
  engineMs: number
  rowsRead: number | undefined
  error: WellheadError | undefined
}

export type RunFigures = ReturnType<typeof figuresOf>

type ShownRow = Record<string, unknown>

export type ReplayedRequest = ReturnType<typeof replayedRequest>

interface Compared {
  /** Undefined if one of the runs failed. */
  difference: RowDifference | undefined
  unstable: boolean
}

/** What a replay reports about a request. Values of callers and entries are part of it only if they are requested. */
export function replayedRequest(
  { uses, project, format, parameters }: RecentRequest,
  { before, after }: { before: Run; after: Run },
  { difference, unstable }: Compared,
  showValues: boolean,
) {
  return {
    // Each refresh halves the number.
    uses: Math.max(1, Math.round(uses)),
    tenant: project !== undefined,
    format,
    outcome: outcomeOf(before, after, { difference, unstable }),
    before: figuresOf(before, showValues),
    after: figuresOf(after, showValues),
    added_rows: difference?.added ?? 0,
    removed_rows: difference?.removed ?? 0,
    reordered: difference?.reordered ?? false,
    unstable,
    ...(showValues && {
      parameters: Object.fromEntries(Object.entries(parameters).map(([name, text]) => [name, short(text)])),
      project: project ?? null,
      examples: (difference?.examples ?? []).map(({ before, after }) => ({
        before: shownRow(before),
        after: shownRow(after),
      })),
    }),
  }
}

function outcomeOf(
  before: Run,
  after: Run,
  { difference, unstable }: Compared,
): 'same' | 'different' | 'failed' {
  if (difference) {
    // If the order varies between runs of the same version, nobody can rely on it.
    return isSame(unstable ? { ...difference, reordered: false } : difference) ? 'same' : 'different'
  }
  if (!after.error) return 'different'
  return before.error?.code === after.error.code ? 'same' : 'failed'
}

function figuresOf({ body, rows, engineMs, rowsRead, error }: Run, showValues: boolean) {
  return {
    rows: body ? rows : null,
    duration_ms: Math.round(engineMs * 10) / 10,
    rows_read: rowsRead ?? null,
    error: error ? { code: error.code, message: showValues ? error.message : withoutValues(error) } : null,
  }
}

/** Messages about parameters quote what was sent, and those of the engine can quote entries. */
function withoutValues({ code, message, details: { parameter, allowed } }: WellheadError): string {
  switch (code) {
    case invalidParameter.code:
      return allowed ? message : `Parameter "${parameter}" is not accepted.`
    case invalidQuery.code:
      return 'The query fails. Set show_values to true to see why.'
    default:
      return message
  }
}

const maxLength = 1000

function short(text: string): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
}

function shownRow(line: string | null): ShownRow | null {
  if (line === null) return null
  const members = Object.entries(JSON.parse(line) as ShownRow).map(([name, value]) => {
    const text = JSON.stringify(value)
    return [name, text.length > maxLength ? short(text) : value]
  })
  return Object.fromEntries(members)
}
