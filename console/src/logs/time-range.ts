import { showInstant, type Zone } from '../ui/text/instants.ts'

/** A time range in the address: relative to now, or between two instants. */
export interface TimeRange {
  fromMs: number
  toMs: number
  /** `15m`, or undefined where both ends are fixed. */
  relative: string | undefined
}

/** Key in the address, text, and length in milliseconds. */
export const relativeRanges = [
  ['5m', 'Last 5 minutes', 300_000],
  ['15m', 'Last 15 minutes', 900_000],
  ['1h', 'Last hour', 3_600_000],
  ['6h', 'Last 6 hours', 21_600_000],
  ['24h', 'Last 24 hours', 86_400_000],
  ['7d', 'Last 7 days', 604_800_000],
  ['30d', 'Last 30 days', 2_592_000_000],
] as const

/** The range as text, without the parts that both instants share. */
export function rangeText({ fromMs, toMs }: Pick<TimeRange, 'fromMs' | 'toMs'>, zone: Zone): string {
  const end = fromMs % 60_000 === 0 && toMs % 60_000 === 0 ? 16 : 19
  const [from, to] = [fromMs, toMs].map((ms) => showInstant(ms, zone, 'seconds').slice(0, end)) as [
    string,
    string,
  ]
  return `${from.slice(5)} – ${from.slice(0, 10) === to.slice(0, 10) ? to.slice(11) : to.slice(5)}`
}

const units: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

export function readRange(address: URLSearchParams, nowMs: number): TimeRange {
  const [from, to] = [Date.parse(address.get('from') ?? ''), Date.parse(address.get('to') ?? '')]
  if (from < to) return { fromMs: from, toMs: to, relative: undefined }
  const match = /^(\d{1,4})([mhd])$/.exec(address.get('range') ?? '')
  const relative = match ? match[0] : '1h'
  const ms = match ? Number(match[1]) * (units[match[2] as string] as number) : 3_600_000
  return { fromMs: nowMs - ms, toMs: nowMs, relative }
}
