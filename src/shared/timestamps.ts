/** Instants are microseconds since 1970, UTC, as in the engine. Date has milliseconds only, and reads more than ISO 8601. */
const isoForm =
  /^(?<date>\d{4}-\d\d-\d\d)[Tt ](?<hour>\d\d):(?<minute>\d\d)(?::(?<second>\d\d)(?:[.,](?<fraction>\d{1,9}))?)?(?<zone>[Zz]|[+\- ]\d\d(?::?\d\d)?)?$/

/** Before every entry. */
export const beginningOfTime = '1970-01-01T00:00:00Z'

/** Reads an ISO 8601 date and time with Z, an offset or neither, which means UTC. Digits after the microseconds are cut off. */
export function parseIsoTimestamp(text: string): bigint | undefined {
  const groups = isoForm.exec(text)?.groups
  if (!groups) return undefined
  const midnightMs = Date.parse(`${groups.date}T00:00:00Z`)
  // Date reads February 30 as a day in March.
  if (Number.isNaN(midnightMs) || !new Date(midnightMs).toISOString().startsWith(`${groups.date}`)) {
    return undefined
  }
  const hour = Number(groups.hour)
  const minute = Number(groups.minute)
  const second = Number(groups.second ?? 0)
  if (hour > 23 || minute > 59 || second > 59) return undefined
  const offsetMinutes = zoneOffsetMinutes(groups.zone ?? 'Z')
  if (offsetMinutes === undefined) return undefined
  const seconds = midnightMs / 1000 + hour * 3600 + (minute - offsetMinutes) * 60 + second
  const fraction = (groups.fraction ?? '').padEnd(6, '0').slice(0, 6)
  return BigInt(seconds) * 1_000_000n + BigInt(fraction)
}

export const isoDate = /^\d{4}-\d\d-\d\d$/

/** Whether a text has the form of a date, or of a date and time, which may not exist. */
export const isIsoShaped = (text: string) => isoDate.test(text) || isoForm.test(text)

/** Reads a date, too: midnight, UTC. */
export const parseIsoInstant = (text: string) =>
  parseIsoTimestamp(isoDate.test(text) ? `${text}T00:00Z` : text)

/** ISO 8601 in UTC, as Date writes it, with microseconds if there are any. */
export function isoText(micros: bigint): string {
  const rest = ((micros % 1000n) + 1000n) % 1000n
  const text = new Date(Number((micros - rest) / 1000n)).toISOString()
  return rest === 0n ? text : text.replace('Z', `${String(rest).padStart(3, '0')}Z`)
}

function zoneOffsetMinutes(zone: string): number | undefined {
  if (zone === 'Z' || zone === 'z') return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = Number(zone.slice(3).replace(':', ''))
  if (hours > 23 || minutes > 59) return undefined
  const offset = hours * 60 + minutes
  // In a URL an unescaped plus is a space.
  return zone.startsWith('-') ? -offset : offset
}

/** The engine's text form of DateTime64(6): seconds since 1970 with six decimals. */
export function formatMicros(micros: bigint): string {
  // The engine loses the sign of "-0.5", so this second is written as a date.
  if (micros < 0n && micros > -1_000_000n) {
    return `1969-12-31 23:59:59.${String(1_000_000n + micros).padStart(6, '0')}`
  }
  const digits = String(micros < 0n ? -micros : micros).padStart(7, '0')
  return `${micros < 0n ? '-' : ''}${digits.slice(0, -6)}.${digits.slice(-6)}`
}
