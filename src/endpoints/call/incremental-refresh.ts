import { hash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Arrivals } from '../../catalog/arrivals.ts'
import type { TimeRange } from '../../sql/isolation.ts'
import type { Incremental, Span } from '../definition/definition.ts'
import type { Part, RunResult } from './endpoint-runner.ts'

interface RefreshOptions {
  clock: Clock
  arrivals: Arrivals
  /** Sources that the query may read. */
  sources: readonly string[]
  column: string
  span: Span
  /** Whether the window starts with a whole bucket. */
  wholeBuckets: boolean
  maxRows: number
}

export type PreviousResult = Pick<RunResult, 'body' | 'truncated'>

/** After this many refreshes in a row, the whole result is computed. */
const maxInARow = 11

/** Computes an incremental endpoint's result again by running its query for as little time as gives the same result. */
export class IncrementalRefresh {
  readonly #options: RefreshOptions
  /** The last run: its time, and which arrivals it has seen. */
  #last: { nowMicros: bigint; mark: number; digest: string } | undefined
  #inARow = 0

  constructor(options: RefreshOptions) {
    this.#options = options
  }

  async run(
    previous: PreviousResult | undefined,
    run: (part: Part) => Promise<RunResult>,
  ): Promise<RunResult> {
    const { clock, arrivals } = this.#options
    const nowMicros = BigInt(clock.now()) * 1000n
    // Taken before the run: entries that arrive during the run may be missing from its result.
    const mark = arrivals.mark()
    // A result may have been discarded: only the one of the last run can be refreshed.
    const base = previous && this.#last?.digest === digestOf(previous.body) ? previous : undefined
    const refreshed = base && (await this.#refreshPart(base, nowMicros, mark, run))
    const result = refreshed ?? (await run({ nowMicros }))
    this.#inARow = refreshed === undefined ? 0 : this.#inARow + 1
    this.#last = { nowMicros, mark, digest: digestOf(result.body) }
    return result
  }

  async #refreshPart(
    previous: PreviousResult,
    nowMicros: bigint,
    mark: number,
    run: (part: Part) => Promise<RunResult>,
  ): Promise<RunResult | undefined> {
    const { arrivals, sources, column, span, wholeBuckets, maxRows } = this.#options
    if (!this.#last || previous.truncated || this.#inARow >= maxInARow) return undefined
    const rows = bucketRows(previous.body, column)
    const last = rows?.at(-1)
    // Without a row, it is unknown where the window ended.
    if (!rows || !last) return undefined
    const part = planRefresh({
      span,
      wholeBuckets,
      lastMicros: last.bucket,
      beforeMicros: this.#last.nowMicros,
      nowMicros,
      earliestMicros: arrivals.earliestSince(this.#last.mark, sources),
    })
    if (!part) return undefined
    const result = await run({ nowMicros, range: part.range })
    // The run may have read some entries of a request whose other entries are in kept buckets.
    const arrivedMicros = arrivals.earliestSince(mark, sources)
    if (arrivedMicros !== undefined && arrivedMicros < part.kept.beforeMicros) return undefined
    const fresh = result.truncated ? undefined : bucketRows(result.body, column)
    const spliced = fresh && splice(rows, fresh, part.kept)
    if (!spliced || spliced.length > maxRows) return undefined
    return { ...result, body: bodyOf(spliced), rows: spliced.length }
  }
}

function digestOf(body: Buffer): string {
  return hash('sha256', body, 'base64')
}

export function spanOf({ by, spans, otherwise }: Incremental, value: unknown): Span | undefined {
  if (by !== null && typeof value === 'string' && Object.hasOwn(spans, value)) return spans[value]
  return otherwise ?? undefined
}

interface RefreshTimes {
  span: Span
  wholeBuckets: boolean
  /** The last bucket of the previous result. Its window may have ended before the time of its run. */
  lastMicros: bigint
  beforeMicros: bigint
  nowMicros: bigint
  /** The earliest timestamp among entries that arrived since the previous run. */
  earliestMicros: bigint | undefined
}

/**
 * Plans to compute the buckets that got new entries, those that were still open, and the first one if the window starts
 * within it. These two can change without new entries: time may reach an entry of the future, and the window leaves others
 * behind, which can add a row as well as remove one. Undefined if everything must be computed.
 */
export function planRefresh(times: RefreshTimes) {
  const { span, wholeBuckets, lastMicros, beforeMicros, nowMicros, earliestMicros = nowMicros } = times
  const bucketMicros = BigInt(span.bucket_seconds) * 1_000_000n
  const windowMicros = BigInt(span.window_seconds) * 1_000_000n
  const start = (micros: bigint) => micros - (((micros % bucketMicros) + bucketMicros) % bucketMicros)
  // The clock was set back.
  if (nowMicros < beforeMicros) return undefined
  const first = start(nowMicros - windowMicros)
  const [open = nowMicros] = [lastMicros, beforeMicros, earliestMicros].sort((a, b) => (a < b ? -1 : 1))
  const kept = { fromMicros: wholeBuckets ? first : first + bucketMicros, beforeMicros: start(open) }
  if (kept.beforeMicros <= kept.fromMicros) return undefined
  return { kept, range: { beforeMicros: kept.fromMicros, fromMicros: kept.beforeMicros } }
}

const opening = '{"result":['
const closing = ']}'

/** The rows of a result as text; undefined if the body does not have the engine's layout. */
export function rowsOf(body: Buffer): string[] | undefined {
  const text = body.toString()
  if (!text.startsWith(opening) || !text.endsWith(closing)) return undefined
  const inside = text.slice(opening.length, -closing.length).trim()
  return inside === '' ? [] : inside.split(',\n')
}

export function bodyOf(rows: readonly string[]): Buffer {
  return Buffer.from(
    rows.length === 0 ? `${opening}${closing}` : `${opening}\n${rows.join(',\n')}\n${closing}`,
  )
}

interface BucketRow {
  text: string
  bucket: bigint
}

/** The rows with the starts of their buckets; undefined if a row has none or they are not in order. */
function bucketRows(body: Buffer, column: string): BucketRow[] | undefined {
  const rows: BucketRow[] = []
  const texts = rowsOf(body)
  for (const text of texts ?? []) {
    const bucket = bucketOf(text, column)
    const last = rows.at(-1)
    if (bucket === undefined || (last && bucket < last.bucket)) return undefined
    rows.push({ text, bucket })
  }
  return texts && rows
}

function bucketOf(row: string, column: string): bigint | undefined {
  const value = (JSON.parse(row) as Record<string, unknown>)[column]
  const micros = typeof value === 'number' ? value : Date.parse(`${value}Z`) * 1000
  return Number.isSafeInteger(micros) ? BigInt(micros) : undefined
}

/** The kept rows of the previous result, with new rows around them. */
function splice(
  previous: readonly BucketRow[],
  fresh: readonly BucketRow[],
  { fromMicros, beforeMicros }: Required<TimeRange>,
): string[] {
  return [
    ...fresh.filter(({ bucket }) => bucket < fromMicros),
    ...previous.filter(({ bucket }) => bucket >= fromMicros && bucket < beforeMicros),
    ...fresh.filter(({ bucket }) => bucket >= beforeMicros),
  ].map(({ text }) => text)
}
