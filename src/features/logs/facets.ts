import { z } from 'zod'
import { queryTimeout } from '../../core/base/errors.ts'
import { present } from '../../core/search/condition-sql.ts'
import { isStatus, requiredField, searchField } from '../../core/search/search-condition.ts'
import { newestSql, pathSettings, pathsIn } from '../../core/search/seen-paths.ts'
import { columnKindOf } from '../../shared/column-kind.ts'
import { countedLength } from '../../shared/counted-values.ts'
import type { Search } from './entry-queries.ts'
import { countNewest } from './search-slices.ts'

/** Fields are found in this many of the newest entries. */
const inspectedEntries = 2_000
const maxDetected = 40
/** Fields without a typed column are counted in about as many entries at most, because their JSON text is parsed. */
const maxParsed = 20_000
/** Larger entries are not parsed: each field parses the whole text again. */
const maxParsedBytes = 65_536
const parsedBlocks = { max_block_size: 64 } as const
/** A statement counts until then, and says how many entries it has read. */
const countWithin = { timeout_overflow_mode: 'break', max_execution_time: 8 } as const
/** A field with more values shows only its most frequent ones. */
const maxValues = 50
const topOfMany = 10

export const valueCounts = z.array(z.object({ value: z.string(), count: z.int() }))

export const facetShape = z.object({
  field: z.string().describe('Path of `metadata`. A dot inside of a key is written `%2E`.'),
  column: z.string().nullable().describe('Its typed column. Null: no typed column.'),
  entries: z.int().describe('Counted entries that have the field.'),
  sampled: z
    .int()
    .describe(
      'Number of matching entries that were counted; fewer than all if there are many, or entries larger than 64 KiB.',
    ),
  distinct: z.int().nullable().describe('Number of values. Null: more than 50.'),
  values: valueCounts.describe('The most frequent values: all up to 50, else the top 10.'),
})

type Facet = z.output<typeof facetShape>

interface Field extends Pick<Facet, 'field' | 'column'> {
  /** SQL of the text; empty if there is none. */
  value: string
}

/** Counts of a statement are those of the same entries, so none exceeds the number of entries. */
export async function facetsOf(whole: Search) {
  const [counts, fields] = await Promise.all([
    countNewest(whole, ({ sql, parameters }, deadlineMs) =>
      whole.rows<{ _n: number }>(
        `SELECT count() AS _n FROM ${whole.table} WHERE ${whole.sql}${sql}`,
        { parameters },
        deadlineMs,
      ),
    ),
    detectedFields(whole).catch((error: unknown) => {
      if (!queryTimeout.is(error)) throw error
    }),
  ])
  const { searchedSince } = counts
  const search = searchedSince ? searchSince(whole, searchedSince) : whole
  const { table, sql, source } = search
  const matching = counts.rows.reduce((sum, { _n }) => sum + _n, 0)
  if (matching === 0) return { entries: 0, facets: [], searchedSince }
  const detected = fields ?? (await detectedFields(search))
  const typed = source.columns.flatMap(({ name: column, path, type }): Field[] => {
    const field = requiredField(column, source.columns, 'column')
    return type === 'text' || isStatus(field) ? [{ field: path, column, value: present(field) }] : []
  })
  const every = Math.ceil(matching / maxParsed)
  const isParsed = `length(metadata) <= ${maxParsedBytes}`
  // Those of all times and projects, unlike the newest ones.
  const some = every > 1 ? ` AND cityHash64(timestamp, id) % ${every} = 0` : ''
  const all = await Promise.all([
    countFields(search, typed, `${table} WHERE ${sql}`, true),
    countFields(search, detected, `${table} WHERE ${sql}${some} AND ${isParsed}`, false),
  ])
  const facets = all.flat().filter(({ entries }) => entries > 0)
  return {
    entries: matching,
    facets: facets.toSorted((one, other) => rankOf(one) - rankOf(other)),
    searchedSince,
  }
}

function searchSince(search: Search, since: Date): Search {
  return {
    ...search,
    sql: `${search.sql} AND timestamp >= fromUnixTimestamp64Milli(${since.getTime()}, 'UTC')`,
  }
}

/** The fields of the newest matching entries that no typed column stores, frequent ones first. */
async function detectedFields({ table, sql, source, rows }: Search): Promise<Field[]> {
  const newest = `(${newestSql(`${table} WHERE ${sql}`, inspectedEntries)})`
  const seen = await rows<{ path: string }>(
    `SELECT p.1 AS path, count() AS entries FROM ${pathsIn(newest)} ` +
      "WHERE match(p.2, '^(?:String|Bool|U?Int[0-9]+|Float[0-9]+)$') " +
      `GROUP BY path ORDER BY entries DESC, path LIMIT ${maxDetected + source.columns.length}`,
    { settings: pathSettings },
  )
  const found = seen.flatMap(({ path }): Field[] => {
    const field = searchField(`metadata.${path}`, source.columns)
    return field?.kind === 'path' ? [{ field: path, column: null, value: present(field) }] : []
  })
  return found.slice(0, maxDetected)
}

async function countFields(
  search: Search,
  fields: readonly Field[],
  from: string,
  isAll: boolean,
): Promise<Facet[]> {
  if (fields.length === 0) return []
  const shown = ({ value }: Field) => `substringUTF8(${value}, 1, ${countedLength})`
  const read = <Row>(sql: string) =>
    search.rows<Row>(sql, { settings: { ...countWithin, ...(!isAll && parsedBlocks) } })
  // The engine counts this many times as many values exactly.
  const factor = isAll ? 3 : Math.ceil((2 * maxParsed) / maxValues)
  const tops = fields.map(
    (field, index) =>
      `countIf(${field.value} != '') AS _has${index}, ` +
      `topKIf(${maxValues + 1}, ${factor}, 'counts')(${shown(field)}, ${field.value} != '') AS _top${index}`,
  )
  const [row = {}] = await read<Record<string, unknown>>(
    `SELECT count() AS _entries, ${tops.join(', ')} FROM ${from}`,
  )
  const facets = fields.map(({ field, column }, index): Facet => {
    const top = (row[`_top${index}`] ?? []) as { item: string; count: number }[]
    const values = top.map(({ item, count }) => ({ value: item, count })).sort(byCount)
    const distinct = values.length > maxValues ? null : values.length
    const [entries, sampled] = [Number(row[`_has${index}`] ?? 0), Number(row._entries ?? 0)]
    return { field, column, entries, sampled, distinct, values }
  })
  const many = facets.filter(({ distinct }) => distinct === null)
  if (!isAll) {
    for (const facet of many) facet.values = facet.values.slice(0, topOfMany)
    return facets
  }
  // Of many values, the engine only estimates counts in one pass.
  await Promise.all(
    many.map(async (facet) => {
      const field = fields[facets.indexOf(facet)] as Field
      const rows = await read<{ _value: string; _n: number; _entries: number; _has: number }>(
        `SELECT ${shown(field)} AS _value, count() AS _n, sum(_n) OVER () AS _entries, ` +
          `sumIf(_n, _value != '') OVER () AS _has FROM ${from} GROUP BY _value ` +
          `ORDER BY _value = '', _n DESC, _value LIMIT ${topOfMany}`,
      )
      facet.sampled = rows[0]?._entries ?? 0
      facet.entries = rows[0]?._has ?? 0
      facet.values = rows.map(({ _value, _n }) => ({ value: _value, count: _n })).filter(({ value }) => value)
    }),
  )
  return facets
}

/** Fields that split the entries come first, those with one value last; of each, level and status first. */
function rankOf({ field, distinct }: Facet): number {
  const group = distinct === null ? 2 : distinct < 2 ? 4 : 0
  return ['level', 'status'].includes(columnKindOf(field) ?? '') ? group : group + 1
}

function byCount(one: Facet['values'][number], other: Facet['values'][number]): number {
  return other.count - one.count || (one.value < other.value ? -1 : 1)
}
