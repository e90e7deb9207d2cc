import { z } from 'zod'
import type { EntryReader } from '../../core/access/entry-reader.ts'
import { leavesOf, newestSql } from '../../core/search/seen-paths.ts'
import { columnKindOf, columnKinds, placeOf } from '../../shared/column-kind.ts'
import { beginningOfTime } from '../../shared/timestamps.ts'
import type { EntryQueries } from './entry-queries.ts'
import { entryFilterShape } from './search-shape.ts'

const inspectedEntries = 500
const maxInspectedBytes = 1_000_000
const maxEntryBytes = 64_000

export const listColumnShape = z.object({
  path: z.string().describe('Path of `metadata`. A dot inside of a key is written `%2E`.'),
  kind: z.enum(columnKinds).nullable().describe('What the values mean, if the path is well known.'),
})

type ListColumn = z.output<typeof listColumnShape>

/** The columns that a source names, or those that differ between the newest entries that the reader sees. */
export async function listColumns(queries: EntryQueries, name: string, reader: EntryReader) {
  const source = queries.source(name, reader)
  if (source.list_columns.length > 0) {
    const columns = source.list_columns.map(
      (path): ListColumn => ({ path, kind: columnKindOf(path) ?? null }),
    )
    return { proposed: false, columns }
  }
  const search = queries.search(name, entryFilterShape.parse({ from: beginningOfTime }), reader)
  const { table, sql } = search
  const newest = newestSql(`${table} WHERE ${sql}`, inspectedEntries, maxInspectedBytes, maxEntryBytes)
  const rows = await search.rows<{ metadata: string }>(newest)
  return { proposed: true, columns: proposedColumns(rows.map(({ metadata }) => JSON.parse(metadata))) }
}

/** One path of each kind: the best known name among frequent ones, without those that are the same in every entry. */
export function proposedColumns(entries: readonly object[]): ListColumn[] {
  const paths = new Map<string, { count: number; values: Set<unknown> }>()
  for (const entry of entries) {
    for (const [path, value] of leavesOf(entry)) {
      if (value === null || value === '' || Array.isArray(value)) continue
      const seen = paths.get(path) ?? { count: 0, values: new Set() }
      paths.set(path, { count: seen.count + 1, values: seen.values.add(value) })
    }
  }
  const differs = [...paths].filter(([, { count, values }]) => values.size > 1 || count < entries.length)
  return columnKinds.flatMap((kind) => {
    const found = differs.filter(([path]) => placeOf(path, kind) >= 0)
    const most = Math.max(...found.map(([, { count }]) => count))
    const frequent = found.flatMap(([path, { count }]) => (count * 2 >= most ? [path] : []))
    const [path] = frequent.sort(
      (one, other) => placeOf(one, kind) - placeOf(other, kind) || one.length - other.length,
    )
    return path === undefined ? [] : [{ path, kind }]
  })
}
