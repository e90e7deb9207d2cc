import type { Incremental, Span } from './definition.ts'
import type { TimeRange } from './row-filters.ts'

export interface Renewal {
  span: Span
  wholeBuckets: boolean
  /** Times of the run that gave the old result, and of the one that is to come. */
  beforeMicros: bigint
  nowMicros: bigint
  /** How far back entries reach that came since the old result. */
  earliestMicros: bigint | undefined
}

export type RenewalPlan =
  | { kind: 'whole' }
  /** Rows of buckets outside of the kept ones are computed again. */
  | { kind: 'part'; kept: KeptBuckets; range: TimeRange }
  /** Nothing can have changed if none of the old rows is of this bucket. */
  | { kind: 'unchanged'; unlessIn: bigint | undefined }

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
  if (nowMicros < beforeMicros) return { kind: 'whole' }
  const first = start(nowMicros - windowMicros)
  const turned = start(nowMicros) !== start(beforeMicros) || first !== start(beforeMicros - windowMicros)
  if (!turned && earliestMicros === undefined) {
    return { kind: 'unchanged', unlessIn: wholeBuckets ? undefined : first }
  }
  const open = earliestMicros !== undefined && earliestMicros < beforeMicros ? earliestMicros : beforeMicros
  const kept = { fromMicros: wholeBuckets ? first : first + bucketMicros, beforeMicros: start(open) }
  if (kept.beforeMicros <= kept.fromMicros) return { kind: 'whole' }
  return { kind: 'part', kept, range: { beforeMicros: kept.fromMicros, fromMicros: kept.beforeMicros } }
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

/** The beginning of the bucket that a row is of. */
export function bucketOf(row: string, column: string): bigint {
  const value = (JSON.parse(row) as Record<string, unknown>)[column]
  if (typeof value === 'number') return BigInt(value)
  return BigInt(Date.parse(`${value}Z`)) * 1000n
}

/** Old rows where they are kept, new ones around them. */
export function splice(
  old: readonly string[],
  fresh: readonly string[],
  kept: KeptBuckets,
  column: string,
): string[] {
  const before: string[] = []
  const after: string[] = []
  for (const row of fresh) {
    const bucket = bucketOf(row, column)
    if (bucket < kept.fromMicros) before.push(row)
    else if (bucket >= kept.beforeMicros) after.push(row)
  }
  const middle = old.filter((row) => {
    const bucket = bucketOf(row, column)
    return bucket >= kept.fromMicros && bucket < kept.beforeMicros
  })
  return [...before, ...middle, ...after]
}
