import type { Plan } from '../api/shapes.ts'
import { bytes, count, counted } from '../ui/text/format.ts'

/** A plan's limits in words. A plan that does not exist has none. */
export function limitsText(plan: Plan | undefined): string {
  const { retention_days, requests_per_minute, entries_per_day, bytes_per_day } = plan ?? {}
  const limits = [
    retention_days && `${counted(retention_days, 'day')} of entries`,
    requests_per_minute && `${counted(requests_per_minute, 'request')} per minute`,
    entries_per_day && `${counted(entries_per_day, 'entry', 'entries')} per day`,
    bytes_per_day && `${bytes(bytes_per_day)} per day`,
  ].filter(Boolean)
  return limits.length === 0 ? 'No limits' : limits.join(', ')
}

/** What was used of a limit. */
export function usedText(
  used: number,
  limit: number | null | undefined,
  text: (value: number) => string = count,
) {
  if (!limit) return `${text(used)}, no limit`
  return `${text(used)} of ${text(limit)} (${Math.round((used / limit) * 100)} %)`
}

const dayMs = 86_400_000

/** Each of the last UTC days up to today, oldest first, with what was used. */
export function lastDays<T extends { day: string }>(rows: readonly T[], days: number, nowMs: number) {
  const byDay = new Map(rows.map((row) => [row.day, row]))
  const today = Math.floor(nowMs / dayMs) * dayMs
  return Array.from({ length: days }, (_, index) => {
    const atMs = today - (days - 1 - index) * dayMs
    return { atMs, row: byDay.get(new Date(atMs).toISOString().slice(0, 10)) }
  })
}
