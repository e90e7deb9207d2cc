import { z } from 'zod'
import { keysOf } from '../sql/metadata-path.ts'
import type { EntryQueries, EntryReader } from './entry-queries.ts'
import { entryFilterShape } from './search-shape.ts'
import { leavesOf, newestSql } from './seen-paths.ts'

const inspectedEntries = 500
const maxInspectedBytes = 1_000_000
const maxEntryBytes = 64_000

const listColumnKinds = ['level', 'method', 'route', 'status', 'duration', 'error'] as const
type Kind = (typeof listColumnKinds)[number]

/** The last keys of each kind's paths, the best first. They are compared in lower case and without separators. */
const kindNames: Record<Kind, readonly string[]> = {
  level: ['level', 'severity', 'severitytext', 'errorseverity', 'loglevel'],
  method: ['method', 'requestmethod', 'httpmethod', 'httprequestmethod', 'verb'],
  route: ['route', 'httproute', 'path', 'urlpath', 'requestpath', 'httptarget', 'url', 'requesturl'],
  status: ['status', 'statuscode', 'httpresponsestatuscode', 'httpstatuscode', 'responsestatus'],
  duration: [
    ...['ms', 'duration', 'durationms', 'responsetime', 'responsetimems', 'origintime', 'elapsed'],
    ...['elapsedms', 'latency', 'latencyms', 'executiontimems', 'tookms'],
  ],
  error: ['exceptionmessage', 'errmessage', 'errormessage', 'error', 'err', 'errormsg', 'exception'],
}

export const listColumnShape = z.object({
  path: z.string().describe('Path of `metadata`. A dot inside of a key is written `%2E`.'),
  kind: z.enum(listColumnKinds).nullable().describe('What the values mean, if the path is well known.'),
})

type ListColumn = z.output<typeof listColumnShape>

/** The columns that a source names, or those that differ between the newest entries that the reader sees. */
export async function listColumns(queries: EntryQueries, name: string, reader: EntryReader) {
  const source = queries.source(name)
  if (source.list_columns.length > 0) {
    const columns = source.list_columns.map((path): ListColumn => ({ path, kind: kindOf(path) ?? null }))
    return { proposed: false, columns }
  }
  const search = queries.search(name, entryFilterShape.parse({ from: '1970-01-01T00:00:00Z' }), reader)
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
  return listColumnKinds.flatMap((kind) => {
    const found = differs.filter(([path]) => kindOf(path) === kind)
    const most = Math.max(...found.map(([, { count }]) => count))
    const frequent = found.flatMap(([path, { count }]) => (count * 2 >= most ? [path] : []))
    const [path] = frequent.sort(
      (one, other) => placeOf(one, kind) - placeOf(other, kind) || one.length - other.length,
    )
    return path === undefined ? [] : [{ path, kind }]
  })
}

function kindOf(path: string): Kind | undefined {
  return listColumnKinds.find((kind) => placeOf(path, kind) >= 0)
}

/** Position among the names of a kind, by the last key, or by the last two as in err.message; -1 for other paths. */
function placeOf(path: string, kind: Kind): number {
  const keys = keysOf(path).map((key) => key.toLowerCase().replace(/[^a-z]/g, ''))
  const names = kindNames[kind]
  const places = [keys.slice(-2).join(''), keys.at(-1) ?? ''].map((name) => names.indexOf(name))
  return places.find((place) => place >= 0) ?? -1
}
