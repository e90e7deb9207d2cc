import { queryTimeout } from '../../core/base/errors.ts'
import { formatMicros } from '../../shared/timestamps.ts'
import { rangeOf, type Search, searchDeadlineMs } from './entry-queries.ts'

const firstSliceMicros = 3_600_000_000n
const sliceGrowth = 4n

/** A part of the range of a search, as conditions to add. */
export interface Slice {
  sql: string
  parameters: Record<string, string>
  /** Its end; undefined: that of the range. */
  toMicros: bigint | undefined
}

/** Divides the range of a search, or of its entries before an instant, into parts. The newest one comes first. */
export function* slicesOf(
  { filter, nowMicros }: Pick<Search, 'filter' | 'nowMicros'>,
  before: number | undefined,
  firstMicros = firstSliceMicros,
): Generator<Slice> {
  const { from, to = nowMicros } = rangeOf(filter, nowMicros)
  const end = before === undefined || BigInt(before) > to ? to : BigInt(before)
  let toMicros: bigint | undefined
  let [start, length] = [end, firstMicros]
  do {
    start -= length
    if (start < from) start = from
    length *= sliceGrowth
    const upper = toMicros === undefined ? '' : " AND timestamp < {slice_to:DateTime64(6, 'UTC')}"
    yield {
      sql: ` AND timestamp >= {slice_from:DateTime64(6, 'UTC')}${upper}`,
      parameters: {
        slice_from: formatMicros(start),
        ...(toMicros !== undefined && { slice_to: formatMicros(toMicros) }),
      },
      toMicros,
    }
    toMicros = start
  } while (start > from)
}

/** The share of the time in which the whole range is counted. The rest is for its newest parts. */
const wholeShare = 2 / 3
/** The first part of a range whose counts took too long. */
const smallestPart = 256n
const secondMicros = 1_000_000n

/** Counts the whole range of a search, or as many of its newest parts as there is time for. */
export async function countNewest<Row>(
  search: Pick<Search, 'filter' | 'nowMicros'>,
  count: (slice: Slice, deadlineMs: number) => Promise<Row[]>,
): Promise<{ rows: Row[]; searchedSince: Date | undefined }> {
  const deadline = performance.now() + searchDeadlineMs
  const whole: Slice = { sql: '', parameters: {}, toMicros: undefined }
  const rows = await unlessLate(count(whole, searchDeadlineMs * wholeShare))
  if (rows !== undefined) return { rows, searchedSince: undefined }
  const { from, to = search.nowMicros } = rangeOf(search.filter, search.nowMicros)
  const first = (to - from) / smallestPart
  const found: Row[] = []
  for (const slice of slicesOf(search, undefined, first > secondMicros ? first : secondMicros)) {
    const more = await unlessLate(count(slice, Math.max(1, deadline - performance.now())))
    if (more === undefined) return { rows: found, searchedSince: dateOf(slice.toMicros ?? to) }
    found.push(...more)
  }
  return { rows: found, searchedSince: undefined }
}

async function unlessLate<Row>(rows: Promise<Row[]>): Promise<Row[] | undefined> {
  try {
    return await rows
  } catch (error) {
    if (!queryTimeout.is(error)) throw error
    return undefined
  }
}

export function dateOf(micros: number | bigint): Date {
  return new Date(Number(BigInt(micros) / 1000n))
}
