import type { TimeRange } from '../../sql/isolation.ts'
import type { Incremental, Span } from '../definition/definition.ts'

export interface Renewal {
  span: Span
  wholeBuckets: boolean
  /** Times of the run that gave the old result, and of the one that is to come. */
  beforeMicros: bigint
  nowMicros: bigint
  /** How far back entries reach that came since the old result. */
  earliestMicros: bigint | undefined
}

export interface RenewalPlan {
  unchanged: Unchanged | undefined
  /** Rows of buckets outside of the kept ones are computed again; undefined where that is all of them. */
  part: { kept: KeptBuckets; range: TimeRange } | undefined
}

/** Nothing came and no bucket has turned: the result is as it was, unless one of its rows is of the bucket that the window leaves. */
export interface Unchanged {
  unlessIn: bigint | undefined
}

/** From the first to before the last: these rows are as they were. */
export interface KeptBuckets {
  fromMicros: bigint
  beforeMicros: bigint
}

/** The span that holds for the value of the parameter, if there is one. */
export function spanOf({ by, spans, otherwise }: Incremental, value: unknown): Span | undefined {
  if (by !== null && typeof value === 'string' && Object.hasOwn(spans, value)) return spans[value]
  return otherwise ?? undefined
}

/**
 * What a renewal has to compute: buckets that new entries came into, those that were not over, and the first one if the
 * window begins within it, since then it gives up entries all the time.
 */
export function planRenewal(renewal: Renewal): RenewalPlan {
  const { span, wholeBuckets, beforeMicros, nowMicros, earliestMicros } = renewal
  const bucketMicros = BigInt(span.bucket_seconds) * 1_000_000n
  const windowMicros = BigInt(span.window_seconds) * 1_000_000n
  const start = (micros: bigint) => micros - (((micros % bucketMicros) + bucketMicros) % bucketMicros)
  // A clock that was put back has made buckets of the future of what was past.
  if (nowMicros < beforeMicros) return { unchanged: undefined, part: undefined }
  const first = start(nowMicros - windowMicros)
  const turned = start(nowMicros) !== start(beforeMicros) || first !== start(beforeMicros - windowMicros)
  const quiet = !turned && earliestMicros === undefined
  const open = earliestMicros !== undefined && earliestMicros < beforeMicros ? earliestMicros : beforeMicros
  const kept = { fromMicros: wholeBuckets ? first : first + bucketMicros, beforeMicros: start(open) }
  const unchanged = quiet ? { unlessIn: wholeBuckets ? undefined : first } : undefined
  if (kept.beforeMicros <= kept.fromMicros) return { unchanged, part: undefined }
  const range = { beforeMicros: kept.fromMicros, fromMicros: kept.beforeMicros }
  return { unchanged, part: { kept, range } }
}

const opening = '{"result":['
const closing = ']}'

/** The rows of a result, each the text that it is; undefined where the body is not one as the engine writes it. */
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

/** The rows with the beginnings of their buckets; undefined where a row has none, or they are in another order. */
export function inBuckets(rows: readonly string[], column: string): BucketRow[] | undefined {
  const found: BucketRow[] = []
  for (const text of rows) {
    const bucket = bucketOf(text, column)
    const last = found.at(-1)
    if (bucket === undefined || (last && bucket < last.bucket)) return undefined
    found.push({ text, bucket })
  }
  return found
}

function bucketOf(row: string, column: string): bigint | undefined {
  const value = (JSON.parse(row) as Record<string, unknown>)[column]
  const micros = typeof value === 'number' ? value : Date.parse(`${value}Z`) * 1000
  return Number.isSafeInteger(micros) ? BigInt(micros) : undefined
}

/** Old rows where they are kept, new ones around them. */
export function splice(old: readonly BucketRow[], fresh: readonly BucketRow[], kept: KeptBuckets): string[] {
  return [
    ...fresh.filter(({ bucket }) => bucket < kept.fromMicros),
    ...old.filter(({ bucket }) => bucket >= kept.fromMicros && bucket < kept.beforeMicros),
    ...fresh.filter(({ bucket }) => bucket >= kept.beforeMicros),
  ].map(({ text }) => text)
}
