import { z } from 'zod'
import { pathOf } from '../../shared/path-text.ts'
import type { Source } from '../catalog/source.ts'
import { outputJson } from '../engine/json-rows.ts'
import { typeFor } from '../sql/metadata-path.ts'
import { sqlText } from '../sql/names.ts'

const sampledEntries = 10_000
/** The engine parses no more than this, whatever the entries contain. */
const maxSampledBytes = 8_000_000
/** Entries can have keys that differ each time. The most frequent paths are listed. */
const maxPaths = 1_000
const maxPathLength = 500
/** Upper bound of the length of all paths inside of lists: each may be as long as its entry. */
const maxListedBytes = 1_000_000_000
const maxTypes = 20
/** Examples come from fewer entries, because the service itself parses them. */
const exampleEntries = 300
const maxExampleEntryBytes = 64_000
const maxExampleBytes = 500_000
/** Counts a repeated key once, keeps dots inside of keys, and reads text that looks like a date as text. */
export const pathSettings = {
  ...outputJson,
  type_json_skip_duplicated_paths: 1,
  json_type_escape_dots_in_keys: 1,
  input_format_try_infer_dates: 0,
  input_format_try_infer_datetimes: 0,
}

/** With these settings, the paths of metadata in each entry and the types of their values, as the tuple `p`. */
export function pathsIn(entries: string): string {
  // Each path repeats the keys above it: without a limit, one entry of 1 MB can have paths of 4 GB together.
  const long = `^(?s:.{${maxPathLength + 1}})`
  const json = `CAST(metadata, 'JSON(max_dynamic_paths = 0, SKIP REGEXP ''${long}'')')`
  return `(SELECT arrayJoin(CAST(JSONAllPathsWithTypes(${json}), 'Array(Tuple(String, String))')) AS p FROM ${entries})`
}

/** The metadata of the newest entries, as many as the engine can parse with little memory. */
export function newestSql(
  from: string,
  entries: number,
  maxBytes = maxSampledBytes,
  maxEntryBytes = maxBytes,
): string {
  const soFar = 'OVER (ORDER BY timestamp DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)'
  // Objects inside of lists have paths of their own, whose length is not limited.
  const inLists = "if(position(metadata, '[') = 0, 0, length(metadata) * countSubstrings(metadata, ':'))"
  return (
    `SELECT metadata FROM (SELECT metadata, sum(length(metadata)) ${soFar} AS bytes, sum(${inLists}) ${soFar} AS listed ` +
    `FROM (SELECT metadata, timestamp FROM ${from} ORDER BY timestamp DESC LIMIT ${entries}) ` +
    `WHERE length(metadata) <= ${maxEntryBytes} AND ${inLists} <= ${maxListedBytes}) ` +
    `WHERE bytes <= ${maxBytes} AND listed <= ${maxListedBytes}`
  )
}

export const sourcePathShape = z.object({
  path: z
    .string()
    .describe('Path in `metadata`, with dots between the levels. A dot inside of a key is written `%2E`.'),
  types: z.array(z.string()).describe('Engine types of the values.'),
  cast: z.string().nullable().describe('Type to read the path with in SQL. Null: a list of objects.'),
  entries: z.int().describe('Number of sampled entries that have the path.'),
  sampled: z.int().describe('Number of sampled entries. The newest entries are sampled.'),
  paths: z
    .int()
    .describe('Number of paths in the sampled entries. At most 1,000 are listed, the most frequent ones.'),
  column: z.string().nullable().describe('Typed column of the path. Null: no typed column.'),
  filled: z.number().nullable().describe('Share of older entries that are in the typed column, from 0 to 1.'),
  examples: z.array(z.string().max(100)).max(3).describe('Distinct values as text. Lists are JSON.'),
})

export type SourcePath = z.output<typeof sourcePathShape>
type SeenPath = Omit<SourcePath, 'filled'>

/**
 * The most frequent paths of metadata in the newest entries that the statements see, and all typed columns. In order. The
 * statements need the settings above.
 */
export async function seenPaths(
  source: Source,
  rows: <Row>(sql: string) => Promise<Row[]>,
): Promise<SeenPath[]> {
  const newestOnes = newestSql(`\`${source.name}\``, exampleEntries, maxExampleBytes, maxExampleEntryBytes)
  const [seen, newest] = await Promise.all([
    rows<Pick<SeenPath, 'path' | 'types' | 'entries' | 'sampled' | 'paths'>>(pathsSql(source)),
    rows<{ metadata: string }>(newestOnes),
  ])
  const shown = new Set(seen.map(({ path }) => path))
  const examples = pathExamples(
    newest.map(({ metadata }) => metadata),
    shown,
  )
  const columns = new Map(source.columns.map(({ path, name }) => [path, name]))
  const missing = source.columns.filter(({ path }) => !shown.has(path))
  const { sampled = 0, paths = 0 } = seen[0] ?? {}
  return [...seen, ...missing.map(({ path }) => ({ path, types: [], entries: 0, sampled, paths }))]
    .map((found) => ({
      ...found,
      cast: typeFor(found.types) ?? null,
      column: columns.get(found.path) ?? null,
      examples: examples.get(found.path) ?? [],
    }))
    .sort((one, other) => (one.path < other.path ? -1 : 1))
}

/** How many paths of the sample are not listed. */
export function unlistedPaths(listed: readonly SeenPath[]): number {
  return (listed[0]?.paths ?? 0) - listed.filter(({ entries }) => entries > 0).length
}

function pathsSql({ name, columns }: Source): string {
  const typed = `[${columns.map(({ path }) => sqlText(path)).join(', ')}]`
  return (
    `WITH _newest AS (${newestSql(`\`${name}\``, sampledEntries)}) ` +
    `SELECT p.1 AS path, arraySort(groupUniqArray(${maxTypes})(p.2)) AS types, count() AS entries, ` +
    `(SELECT count() FROM _newest) AS sampled, count() OVER () AS paths FROM ${pathsIn('_newest')} ` +
    `GROUP BY path ORDER BY has(${typed}, path) DESC, entries DESC, path LIMIT ${maxPaths}`
  )
}

const maxExamples = 3
const maxCharacters = 100
const maxDepth = 100

/** A few distinct values of these paths as text, from the metadata of some entries. Lists are one value, as JSON. */
export function pathExamples(metadata: readonly string[], paths: Pick<ReadonlySet<string>, 'has'>) {
  const found = new Map<string, string[]>()
  const add = (path: string, value: unknown) => {
    if (!paths.has(path)) return
    const text = exampleText(value)
    const examples = found.get(path) ?? []
    if (text === undefined || examples.length === maxExamples || examples.includes(text)) return
    found.set(path, [...examples, text])
  }
  for (const text of metadata) {
    const entry = parsed(text)
    for (const [path, value] of isObject(entry) ? leavesOf(entry) : []) add(path, value)
  }
  return found
}

/** The values in metadata that are not objects, with their paths. Very long paths are left out. */
export function* leavesOf(object: object, prefix = '', depth = 1): Generator<[path: string, value: unknown]> {
  for (const [key, value] of Object.entries(object)) {
    const path = prefix + pathOf([key])
    // Each path has the keys above it once more, which can add up to far more than the entry.
    if (path.length > maxPathLength) continue
    if (!isObject(value)) yield [path, value]
    else if (depth < maxDepth) yield* leavesOf(value, `${path}.`, depth + 1)
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Undefined for values that say nothing, and for integers that lost their last digits. */
function exampleText(value: unknown): string | undefined {
  if (value === null || value === '') return undefined
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return undefined
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  // Cuts between characters, not inside a surrogate pair.
  return [...text.slice(0, 2 * maxCharacters)].slice(0, maxCharacters).join('')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
