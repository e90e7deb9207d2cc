import { useSyncExternalStore } from 'react'

/** How instants are shown. */
export type Zone = 'local' | 'utc'

const key = 'wellhead.zone'
const listeners = new Set<() => void>()

function zone(): Zone {
  return localStorage.getItem(key) === 'utc' ? 'utc' : 'local'
}

export function setZone(chosen: Zone): void {
  localStorage.setItem(key, chosen)
  for (const tell of listeners) tell()
}

export function useZone(): Zone {
  return useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, zone)
}

const two = (value: number) => String(value).padStart(2, '0')
const three = (value: number) => String(value).padStart(3, '0')

/** 2026-01-31 12:00:00.000 or a part of it, in the zone of the reader or in UTC. */
export function showInstant(
  ms: number,
  chosen: Zone,
  parts: 'full' | 'seconds' | 'short' | 'time' = 'full',
): string {
  const shifted = new Date(chosen === 'utc' ? ms : ms - new Date(ms).getTimezoneOffset() * 60_000)
  if (Number.isNaN(shifted.getTime())) return '–'
  const date = `${shifted.getUTCFullYear()}-${two(shifted.getUTCMonth() + 1)}-${two(shifted.getUTCDate())}`
  const time = `${two(shifted.getUTCHours())}:${two(shifted.getUTCMinutes())}`
  if (parts === 'short') return `${date.slice(5)} ${time}`
  const seconds = `${date} ${time}:${two(shifted.getUTCSeconds())}`
  if (parts === 'seconds') return seconds
  const full = `${seconds}.${three(shifted.getUTCMilliseconds())}`
  return parts === 'full' ? full : full.slice(11)
}

/** Milliseconds of a value of a result: an integer of microseconds, or a text without a zone, which is UTC. */
export function instantOf(value: unknown, type: string | undefined): number | undefined {
  const bare = (type ?? '')
    .replace(/^(?:LowCardinality|Nullable)\((.*)\)$/, '$1')
    .replace(/^Nullable\((.*)\)$/, '$1')
  if (bare !== '' && !bare.startsWith('Date')) return undefined
  if (typeof value === 'number') return value > 1e14 && value < 1e17 ? value / 1000 : undefined
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?)?$/.test(value))
    return undefined
  const ms = Date.parse(value.length === 10 ? `${value}T00:00:00Z` : `${value}Z`)
  return Number.isNaN(ms) ? undefined : ms
}

/** For an input of the type datetime-local. */
export function toLocalInput(ms: number, chosen: Zone = 'local'): string {
  return showInstant(ms, chosen, 'seconds').replace(' ', 'T')
}

export function fromLocalInput(text: string, chosen: Zone = 'local'): number | undefined {
  const ms = new Date(chosen === 'utc' ? `${text}Z` : text).getTime()
  return text === '' || Number.isNaN(ms) ? undefined : ms
}
