import { useQueries, useQuery } from '@tanstack/react-query'
import { queries } from '../api/queries.ts'
import { reads } from '../api/rights.ts'
import type { LogSource, Whoami } from '../api/shapes.ts'
import { builtInSources, ownSources } from '../ui/built-in/built-in.ts'
import { readPreference, writePreference } from '../ui/preference.ts'

const lastKey = 'wellhead.logs.source'
const fallback = 'edge_logs'
const maxAsked = 20

export const rememberSource = (name: string): void => writePreference(lastKey, name)

/** The source that was used last, or else the one with the newest entries; undefined until that is known. */
export function useFirstSource(who: Whoami, sources: readonly LogSource[], isWanted: boolean) {
  const last = readPreference(lastKey)
  const isKnown = sources.some(({ name }) => name === last)
  const names = sources.map(({ name }) => name).filter((name) => !ownSources.has(name))
  const usage = useQuery({ ...queries.usage(), enabled: reads(who), select: ({ sources: used }) => used })
  // Others may not read the usage.
  const newest = useQueries({
    queries: names.slice(0, isWanted && !isKnown && !reads(who) ? maxAsked : 0).map(queries.newestEntry),
  })
  const filled = usage.data && new Set(usage.data.flatMap(({ name, entries }) => (entries > 0 ? [name] : [])))
  if (isKnown) return { first: last as string, filled }
  if (reads(who) ? usage.isPending : newest.some(({ isPending }) => isPending))
    return { first: undefined, filled }
  const rankOf = (name: string, index: number) => {
    const used = usage.data?.find((one) => one.name === name)
    if (!used) return newest[index]?.data?.[0]?.timestamp ?? 0
    // Minutes of the last hour; before that, own sources first.
    const minute = used.per_minute.findLastIndex((count) => count > 0) + 1
    return minute * 4 + (used.entries > 0 ? 2 : 0) + (builtInSources.has(name) ? 0 : 1)
  }
  const ranks = names.map(rankOf)
  const best = ranks.indexOf(Math.max(...ranks))
  return { first: (ranks[best] ?? 0) > 1 ? (names[best] as string) : firstOf(names), filled }
}

const firstOf = (names: readonly string[]) => (names.includes(fallback) ? fallback : (names[0] ?? fallback))
