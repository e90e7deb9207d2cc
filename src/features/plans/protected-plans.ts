import { z } from 'zod'
import { versionsSince } from '../../core/base/delayed-deletion.ts'
import type { CatalogRecord } from '../../core/catalog/catalog-state.ts'
import { defaultPlan } from './plan.ts'

/** What a deleted plan leaves has only a name. */
const storedPlan = z.object({
  definition: z.object({ name: z.string(), retention_days: z.number().nullish() }),
})

interface Period {
  name: string
  days: number
  fromMs: number
  untilMs: number
}

/**
 * The longest retention that each name of a plan had since a time, in days. A name without a plan has that of the default plan,
 * and Infinity stands for no limit. Names that always had what the default plan had are left out.
 */
export function longestRetentions(records: readonly CatalogRecord[], sinceMs: number): Map<string, number> {
  const byId = new Map<string, CatalogRecord[]>()
  for (const record of records) byId.set(record.id, [...(byId.get(record.id) ?? []), record])
  const periods: Period[] = []
  const unknown = new Set<string>()
  for (const all of byId.values()) {
    const { versions, isComplete } = versionsSince(all, sinceMs)
    const read = versions.map(({ body, deleted, changed_at }) => {
      const { name, retention_days } = storedPlan.parse(body).definition
      return {
        name,
        days: retention_days ?? Number.POSITIVE_INFINITY,
        deleted,
        fromMs: Date.parse(changed_at),
      }
    })
    if (!isComplete) for (const { name } of read) unknown.add(name)
    for (const [index, { deleted, ...period }] of read.entries()) {
      const untilMs = read[index + 1]?.fromMs ?? Number.POSITIVE_INFINITY
      if (!deleted) periods.push({ ...period, untilMs })
    }
  }
  const names = new Set([...periods.map(({ name }) => name), ...unknown, defaultPlan])
  const times = [sinceMs, ...periods.flatMap(({ fromMs, untilMs }) => [fromMs, untilMs])]
  const instants = [...new Set(times.filter((time) => time >= sinceMs && Number.isFinite(time)))]
  const daysAt = (name: string, time: number) => {
    const named = (wanted: string) =>
      periods.find((period) => period.name === wanted && period.fromMs <= time && time < period.untilMs)?.days
    return named(name) ?? named(defaultPlan) ?? Number.POSITIVE_INFINITY
  }
  const longest = new Map<string, number>()
  for (const name of names) {
    const isUnknown = unknown.has(name) || unknown.has(defaultPlan)
    const days = isUnknown
      ? Number.POSITIVE_INFINITY
      : Math.max(...instants.map((time) => daysAt(name, time)))
    longest.set(name, days)
  }
  const ofDefault = longest.get(defaultPlan)
  for (const [name, days] of longest) if (name !== defaultPlan && days === ofDefault) longest.delete(name)
  return longest
}
