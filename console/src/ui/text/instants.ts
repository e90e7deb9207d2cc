import { useSyncExternalStore } from 'react'
import { watchable } from '../../api/watchable.ts'
import { readPreference } from '../preference.ts'

export type Zone = 'local' | 'utc'

const key = 'wellhead.zone'
const watched = watchable()

const zone = (): Zone => (readPreference(key) === 'utc' ? 'utc' : 'local')

export function setZone(chosen: Zone): void {
  localStorage.setItem(key, chosen)
  watched.changed()
}

export const useZone = (): Zone => useSyncExternalStore(watched.subscribe, zone)

/** `2026-01-31 12:00:00.000` or a part of it, in local time or UTC. */
export function showInstant(
  ms: number,
  chosen: Zone,
  parts: 'full' | 'seconds' | 'short' | 'time' = 'full',
): string {
  const shifted = new Date(chosen === 'utc' ? ms : ms - new Date(ms).getTimezoneOffset() * 60_000)
  if (Number.isNaN(shifted.getTime())) return '–'
  const full = shifted.toISOString().slice(0, -1).replace('T', ' ')
  return { full, seconds: full.slice(0, 19), short: full.slice(5, 16), time: full.slice(11) }[parts]
}

/** The day of an ISO 8601 timestamp. */
export const showDay = (timestamp: string, chosen: Zone): string =>
  showInstant(Date.parse(timestamp), chosen).slice(0, 10)

/** Milliseconds of a value in a result: an integer in microseconds, or a text in UTC. */
export function instantOf(value: unknown, type: string | undefined): number | undefined {
  const bare = (type ?? '')
    .replace(/^(?:LowCardinality|Nullable)\((.*)\)$/, '$1')
    .replace(/^Nullable\((.*)\)$/, '$1')
  if (bare !== '' && !bare.startsWith('Date')) return undefined
  if (typeof value === 'number') return value > 1e14 && value < 1e17 ? value / 1000 : undefined
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?Z?)?$/.test(value))
    return undefined
  const ms = Date.parse(value.length === 10 ? `${value}T00:00:00Z` : `${value.replace('Z', '')}Z`)
  return Number.isNaN(ms) ? undefined : ms
}

/** The value of an input of the type datetime-local. */
export function toLocalInput(ms: number, chosen: Zone): string {
  return showInstant(ms, chosen, 'seconds').replace(' ', 'T')
}

export function fromLocalInput(text: string, chosen: Zone): number | undefined {
  const ms = new Date(chosen === 'utc' ? `${text}Z` : text).getTime()
  return text === '' || Number.isNaN(ms) ? undefined : ms
}
