import { counted } from '../../core/search/condition-sql.ts'
import { requiredField } from '../../core/search/search-condition.ts'
import { otherValues } from '../../shared/counted-values.ts'
import { rangeOf, type Search } from './entry-queries.ts'
import { countNewest, type Slice } from './search-slices.ts'

/** Values of a histogram that have counts of their own. */
const maxGroups = 8
/** With more groups than this, the most frequent values are found first. */
const maxCountedGroups = 20_000

/** Readable lengths of buckets, in seconds. */
const niceSteps = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400,
]

interface Bucket {
  timestamp: number
  count: number
  counts?: Record<string, number>
}

interface CountRow {
  _bucket: number
  _value: string
  _n: number
  /** Number of counted groups, of which a result can be without some. */
  _groups: number
}

/** The number of entries over time, without empty buckets. */
export async function histogramOf(search: Search, maxBuckets: number, by: string | undefined) {
  const step = stepOf(search, maxBuckets)
  const count = by === undefined ? countAll : countBy(by)
  const { rows, searchedSince } = await countNewest(search, (slice, deadlineMs) =>
    count(search, step, slice, deadlineMs),
  )
  return { bucket_seconds: step, buckets: bucketsOf(rows, by !== undefined), searchedSince }
}

type Count = (search: Search, step: number, slice: Slice, deadlineMs: number) => Promise<CountRow[]>

const bucketSql = 'intDiv(toUnixTimestamp(timestamp), {step:UInt32})'
const instantSql = '_step * {step:UInt32} * 1000000 AS _bucket'

const countAll: Count = ({ table, sql, rows }, step, slice, deadlineMs) =>
  rows(
    `SELECT ${instantSql}, '' AS _value, _n, 1 AS _groups FROM (SELECT ${bucketSql} AS _step, count() AS _n ` +
      `FROM ${table} WHERE ${sql}${slice.sql} GROUP BY _step) ORDER BY _bucket`,
    { parameters: { ...slice.parameters, step } },
    deadlineMs,
  )

/** Groups by the field as it is stored. What is shown of its values is read from the groups, which are few. */
function countBy(by: string): Count {
  return async (search, step, slice, deadlineMs) => {
    const { raw, shown } = counted(requiredField(by, search.source.columns, 'by'), '_raw')
    const { table, sql } = search
    const where = `${table} WHERE ${sql}${slice.sql}`
    const read = (groups: string, value: string, settings: Record<string, string | number>) =>
      search.rows<CountRow>(
        `SELECT ${instantSql}, ${value} AS _value, sum(_c) AS _n, sum(count()) OVER () AS _groups FROM ` +
          `(SELECT ${bucketSql} AS _step, ${groups} AS _raw, count() AS _c FROM ${where} GROUP BY _step, _raw) ` +
          `GROUP BY _bucket, _value ORDER BY _bucket, _n DESC, _value LIMIT ${maxCountedGroups}`,
        { parameters: { ...slice.parameters, step }, settings },
        deadlineMs,
      )
    const all = await read(raw, shown, {
      max_rows_to_group_by: maxCountedGroups,
      group_by_overflow_mode: 'any',
    })
    if ((all[0]?._groups ?? 0) < maxCountedGroups) return all
    const top =
      `(SELECT groupArray(_g) FROM (SELECT ${shown} AS _g FROM (SELECT ${raw} AS _raw, count() AS _c FROM ${where} GROUP BY _raw) ` +
      `GROUP BY _g ORDER BY sum(_c) DESC, _g LIMIT ${maxGroups}))`
    const value = shown.replaceAll('_raw', raw)
    return read(`if(has(${top}, ${value} AS _v), _v, '${otherValues}')`, '_raw', {})
  }
}

/** Rows of several parts of the range can have the same bucket. */
function bucketsOf(rows: readonly CountRow[], isSplit: boolean): Bucket[] {
  const totals = new Map<string, number>()
  for (const { _value: value, _n: n } of rows) totals.set(value, (totals.get(value) ?? 0) + n)
  totals.delete(otherValues)
  const top = [...totals].sort(([one, n], [other, m]) => m - n || (one < other ? -1 : 1)).slice(0, maxGroups)
  const shown = new Set(top.map(([value]) => value))
  const buckets = new Map<number, { count: number; counts: Map<string, number> }>()
  for (const { _bucket: at, _value, _n: n } of rows) {
    const bucket = buckets.get(at) ?? { count: 0, counts: new Map<string, number>() }
    const value = shown.has(_value) ? _value : otherValues
    bucket.count += n
    bucket.counts.set(value, (bucket.counts.get(value) ?? 0) + n)
    buckets.set(at, bucket)
  }
  return [...buckets]
    .sort(([one], [other]) => one - other)
    .map(([timestamp, { count, counts }]) => ({
      timestamp,
      count,
      // Values are of others: one may be named __proto__.
      ...(isSplit && { counts: Object.fromEntries(counts) }),
    }))
}

/** The shortest readable step that needs no more than this number of buckets. */
function stepOf({ filter, nowMicros }: Search, buckets: number): number {
  const { from, to = nowMicros } = rangeOf(filter, nowMicros)
  const seconds = Math.max(1, Number(to - from) / 1_000_000)
  const days = Math.ceil(seconds / buckets / 86_400)
  return niceSteps.find((step) => seconds / step <= buckets) ?? days * 86_400
}
