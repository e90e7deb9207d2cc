import type { Source } from '../catalog/source.ts'
import type { Statement } from '../engine/engine.ts'
import { outwardJson } from '../engine/json-rows.ts'
import { pathExamples } from './path-examples.ts'

const sampledEntries = 10_000
/** Examples come from fewer entries, because the service reads them. */
const exampleEntries = 300
const maxExampleEntryBytes = 64_000
const maxExampleBytes = 2_000_000
/** Counts a repeated key once, keeps dots inside of keys, and reads text that looks like a date as text. */
export const pathSettings = {
  ...outwardJson,
  type_json_skip_duplicated_paths: 1,
  json_type_escape_dots_in_keys: 1,
  input_format_try_infer_dates: 0,
  input_format_try_infer_datetimes: 0,
}
/** With these settings, the metadata as a value whose paths the engine lists. */
export const metadataJson = "CAST(metadata, 'JSON(max_dynamic_paths = 0)')"

export interface SeenPath {
  path: string
  types: string[]
  /** Number of sampled entries that have it. */
  entries: number
  /** Number of newest entries that were sampled. */
  sampled: number
  /** The typed column that holds it. */
  column: string | null
  /** Up to 3 distinct values as text. */
  examples: string[]
}

type RunRows = <Row>(sql: string, settings: NonNullable<Statement['settings']>) => Promise<Row[]>

/** The paths of metadata in the newest entries that the statements see, and all typed columns. In order. */
export async function seenPaths(source: Source, rows: RunRows): Promise<SeenPath[]> {
  const table = `\`${source.name}\``
  const [seen, newest] = await Promise.all([
    rows<Pick<SeenPath, 'path' | 'types' | 'entries' | 'sampled'>>(pathsSql(table), pathSettings),
    rows<{ metadata: string }>(examplesSql(table), pathSettings),
  ])
  const examples = pathExamples(newest.map(({ metadata }) => metadata))
  const columns = new Map(source.columns.map(({ path, name }) => [path, name]))
  const missing = source.columns.filter(({ path }) => seen.every((one) => one.path !== path))
  const sampled = seen[0]?.sampled ?? 0
  return [...seen, ...missing.map(({ path }) => ({ path, types: [], entries: 0, sampled }))]
    .map((found) => ({
      ...found,
      column: columns.get(found.path) ?? null,
      examples: examples.get(found.path) ?? [],
    }))
    .sort((one, other) => (one.path < other.path ? -1 : 1))
}

function pathsSql(table: string): string {
  return (
    `WITH _newest AS (SELECT metadata FROM ${table} ORDER BY timestamp DESC LIMIT ${sampledEntries}) ` +
    "SELECT replaceAll(p.1, '%2E', '.') AS path, arraySort(groupUniqArray(p.2)) AS types, count() AS entries, " +
    '(SELECT count() FROM _newest) AS sampled FROM (SELECT arrayJoin(CAST(JSONAllPathsWithTypes(' +
    `${metadataJson}), 'Array(Tuple(String, String))')) AS p FROM _newest) ` +
    'GROUP BY path ORDER BY path'
  )
}

function examplesSql(table: string): string {
  return (
    'SELECT metadata FROM (SELECT metadata, sum(length(metadata)) OVER (ORDER BY timestamp DESC ' +
    'ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS bytes FROM ' +
    `(SELECT metadata, timestamp FROM ${table} ORDER BY timestamp DESC LIMIT ${exampleEntries}) ` +
    `WHERE length(metadata) <= ${maxExampleEntryBytes}) WHERE bytes <= ${maxExampleBytes}`
  )
}
