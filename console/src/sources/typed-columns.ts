import type { SlowCall, TypedColumn } from '../api/api-types.ts'

const kinds: readonly (readonly [RegExp, string])[] = [
  [/^(?:LowCardinality\()?(?:Nullable\()?String/, 'text'],
  [/^(?:Nullable\()?(?:U?Int|Float|Decimal)/, 'number'],
  [/^(?:Nullable\()?Bool/, 'true/false'],
  [/^(?:Array|Tuple)/, 'list'],
  [/^(?:JSON|Object|Map)/, 'object'],
]

/** The engine's types in plain words, each word once. */
export function kindsOf(types: readonly string[]): string[] {
  return [...new Set(types.map((type) => kinds.find(([pattern]) => pattern.test(type))?.[1] ?? type))]
}

/** Other paths have keys that the name of a typed column's path has no way to write. */
export function canBeColumn(path: string): boolean {
  return /^[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*$/.test(path)
}

/** A number only where nothing else was seen: in a column of numbers every other value is null. */
export function suggestedType(types: readonly string[], cast: string | null = null): TypedColumn['type'] {
  const seen = cast === null ? kindsOf(types) : kindsOf([cast])
  return seen.length === 1 && seen[0] === 'number' ? 'number' : 'text'
}

const reserved = ['project', 'id', 'timestamp', 'event_message', 'metadata']
const maxLength = 64

/** The last key, with as many keys before it as it takes to be unique. */
export function suggestedColumn(path: string, taken: readonly string[]): string {
  const keys = path.split('.').map((key) =>
    key
      .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
      .replace(/[^A-Za-z0-9]+/g, '_')
      .toLowerCase(),
  )
  const names = keys.map((_, index) =>
    keys
      .slice(keys.length - 1 - index)
      .join('_')
      .replace(/_+/g, '_')
      .replace(/^[^a-z]+/, '')
      .slice(0, maxLength),
  )
  const isFree = (name: string) => name !== '' && !reserved.includes(name) && !taken.includes(name)
  return names.find(isFree) ?? ''
}

export function shareOf(entries: number, sampled: number): string {
  const share = sampled === 0 ? 0 : entries / sampled
  if (share > 0 && share < 0.005) return '< 1 %'
  // Only what all of them have is 100 %.
  return `${share < 1 ? Math.min(99, Math.round(share * 100)) : 100} %`
}

/** Reading one path from this many texts takes about 20 ms. */
const manyRows = 50_000
const longMs = 200

/** The most that recent calls of a version read and took, where that is enough for a typed column to matter. */
export function heavyReading(
  calls: readonly SlowCall[],
  version: number,
): { rows: number; engineMs: number } | undefined {
  const own = calls.filter((call) => call.version === version)
  const rows = Math.max(0, ...own.map((call) => call.rows_read ?? 0))
  const engineMs = Math.max(0, ...own.map((call) => call.engine_ms))
  return rows >= manyRows || engineMs >= longMs ? { rows, engineMs } : undefined
}
