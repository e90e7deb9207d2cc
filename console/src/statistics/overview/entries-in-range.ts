import type { Usage } from '../../api/shapes.ts'
import { counted, sum } from '../../ui/text/format.ts'
import type { Range } from '../time-range.tsx'

interface SourceCounts {
  name: string
  /** Entries in each bucket, by timestamp. */
  counts: number[]
  total: number
}

/** Sources with entries in the range, most entries first. */
export function entriesInRange({ entries }: Usage, range: Range) {
  const buckets = range === '5min' ? entries.buckets.slice(-5) : entries.buckets
  const names = new Set(buckets.flatMap(({ counts }) => Object.keys(counts)))
  const sources = [...names]
    .map((name): SourceCounts => {
      const counts = buckets.map((bucket) => bucket.counts[name] ?? 0)
      return { name, counts, total: sum(counts) }
    })
    .filter(({ total }) => total > 0)
    .toSorted((one, other) => other.total - one.total || one.name.localeCompare(other.name))
  return { timestamps: buckets.map(({ timestamp }) => timestamp / 1000), sources }
}

/** The largest sources, by name so that each keeps its color; the rest becomes one. */
export function largest(sources: readonly SourceCounts[], max: number): SourceCounts[] {
  const named = (some: readonly SourceCounts[]) => some.toSorted((a, b) => a.name.localeCompare(b.name))
  if (sources.length <= max) return named(sources)
  const rest = sources.slice(max - 1)
  const counts = (rest[0]?.counts ?? []).map((_, index) => sum(rest.map((one) => one.counts[index] ?? 0)))
  return [
    ...named(sources.slice(0, max - 1)),
    { name: counted(rest.length, 'other'), counts, total: sum(counts) },
  ]
}
