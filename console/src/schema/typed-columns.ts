import { reservedColumns, snakeCase } from '../../../src/shared/column-names.ts'
import { keysOf } from '../../../src/shared/path-text.ts'
import type { SlowCall, SourcePath, TypedColumn } from '../api/shapes.ts'

const kinds: readonly (readonly [RegExp, string])[] = [
  [/^(?:LowCardinality\()?(?:Nullable\()?String/, 'text'],
  [/^(?:Nullable\()?(?:U?Int|Float|Decimal)/, 'number'],
  [/^(?:Nullable\()?Bool/, 'true/false'],
  [/^(?:Array|Tuple)/, 'list'],
  [/^(?:JSON|Object|Map)/, 'object'],
]

/** Plain words for types of the engine, each word once. */
export function kindsOf(types: readonly string[]): string[] {
  return [...new Set(types.map((type) => kinds.find(([pattern]) => pattern.test(type))?.[1] ?? type))]
}

/** A number only where nothing else was seen, because a number column holds null for other values. */
export function suggestedType(types: readonly string[], cast: string | null = null): TypedColumn['type'] {
  const seen = cast === null ? kindsOf(types) : kindsOf([cast])
  return seen.length === 1 && seen[0] === 'number' ? 'number' : 'text'
}

/** The last key, with as many keys before it as it takes to be unique. */
export function suggestedColumn(path: string, taken: readonly string[]): string {
  const keys = keysOf(path)
  const names = keys.map((_, index) => snakeCase(keys.slice(keys.length - 1 - index)))
  return names.find((name) => name !== '' && !reservedColumns.has(name) && !taken.includes(name)) ?? ''
}

export function shareOf(entries: number, sampled: number): string {
  const share = sampled === 0 ? 0 : entries / sampled
  if (share > 0 && share < 0.005) return '< 1 %'
  // 100 % means all of them.
  return `${share < 1 ? Math.min(99, Math.round(share * 100)) : 100} %`
}

/** Reading one path from this many JSON texts takes about 20 ms. */
const manyRows = 50_000
const longMs = 200

/** The maxima of recent requests of a version, where they are large enough for a typed column to matter. */
export function heavyReading(
  calls: readonly SlowCall[],
  version: number,
): { rows: number; engineMs: number } | undefined {
  const own = calls.filter((call) => call.version === version)
  const rows = Math.max(0, ...own.map((call) => call.rows_read ?? 0))
  const engineMs = Math.max(0, ...own.map((call) => call.engine_ms))
  return rows >= manyRows || engineMs >= longMs ? { rows, engineMs } : undefined
}

/** How many paths the sampled entries have beyond those that are listed. */
export function unlistedPaths(listed: readonly Pick<SourcePath, 'entries' | 'paths'>[]): number {
  return (listed[0]?.paths ?? 0) - listed.filter(({ entries }) => entries > 0).length
}
