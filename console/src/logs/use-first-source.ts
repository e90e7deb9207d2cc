import { useQuery } from '@tanstack/react-query'
import { queries } from '../api/queries.ts'
import { reads } from '../api/rights.ts'
import type { LogSource, Whoami } from '../api/shapes.ts'
import { ownSources } from '../ui/built-in/built-in.ts'
import { readPreference, writePreference } from '../ui/preference.ts'

const lastKey = 'wellhead.logs.source'
const fallback = 'edge_logs'

export const rememberSource = (name: string): void => writePreference(lastKey, name)

/** The source that was used last, or else the one with the most entries; undefined until that is known. */
export function useFirstSource(who: Whoami, sources: readonly LogSource[]) {
  const last = readPreference(lastKey)
  const usage = useQuery({ ...queries.usage(), enabled: reads(who), select: ({ sources: used }) => used })
  const filled = usage.data && new Set(usage.data.flatMap(({ name, entries }) => (entries > 0 ? [name] : [])))
  if (sources.some(({ name }) => name === last)) return { first: last as string, filled }
  // Others may not read the usage. The service names their source with the newest entry first.
  if (!reads(who)) return { first: who.sources[0]?.name ?? firstOf(who.empty_sources), filled }
  if (usage.isPending) return { first: undefined, filled }
  const names = sources.map(({ name }) => name).filter((name) => !ownSources.has(name))
  const counts = names.map((name) => usage.data?.find((one) => one.name === name)?.entries ?? 0)
  const most = Math.max(0, ...counts)
  return { first: most > 0 ? (names[counts.indexOf(most)] as string) : firstOf(names), filled }
}

const firstOf = (names: readonly string[]) => (names.includes(fallback) ? fallback : (names[0] ?? fallback))

/** Sources with entries of the caller, by name; if there are none, those that could have some. */
export function sourcesOf({ sources, empty_sources: empty }: Whoami): readonly LogSource[] {
  if (sources.length > 0) return sources.toSorted((one, other) => (one.name < other.name ? -1 : 1))
  return empty.map((name) => ({ name, description: '', columns: [] }))
}
