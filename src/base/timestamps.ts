const isoForm =
  /^([+-]\d{6}|\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|[+\- ]\d{2}(?::?\d{2})?)?)?$/i

/**
 * Microseconds since 1970 of an ISO 8601 date and time: with Z, an offset or none (then UTC), up to
 * nanoseconds. A plus that arrived as a space, as it does from an address, is a plus.
 */
export function parseIsoTimestamp(text: string): bigint | undefined {
  const match = isoForm.exec(text.trim())
  if (!match) return undefined
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone = 'Z'] = match
  const parts = [year, month, day, hour, minute, second].map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  const ms = Date.UTC(parts[0], parts[1] - 1, parts[2], parts[3], parts[4], parts[5])
  const read = new Date(ms)
  if (parts[0] < 100) read.setUTCFullYear(parts[0], parts[1] - 1, parts[2])
  // A day or an hour that does not exist comes back as another one.
  const exists =
    read.getUTCFullYear() === parts[0] &&
    read.getUTCMonth() === parts[1] - 1 &&
    read.getUTCDate() === parts[2] &&
    read.getUTCHours() === parts[3] &&
    read.getUTCMinutes() === parts[4] &&
    read.getUTCSeconds() === parts[5]
  const offsetMinutes = readOffset(zone)
  if (!exists || offsetMinutes === undefined) return undefined
  const micros = BigInt(fraction.slice(0, 6).padEnd(6, '0'))
  return BigInt(read.getTime() - offsetMinutes * 60_000) * 1000n + micros
}

function readOffset(zone: string): number | undefined {
  if (zone.toUpperCase() === 'Z') return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = Number(zone.slice(3).replace(':', '') || 0)
  if (hours > 23 || minutes > 59) return undefined
  return (zone[0] === '-' ? -1 : 1) * (hours * 60 + minutes)
}

/** Seconds with six decimals, as the engine reads them for a column of microseconds. */
export function formatMicros(micros: bigint): string {
  const size = micros < 0n ? -micros : micros
  const sign = micros < 0n ? '-' : ''
  return `${sign}${size / 1_000_000n}.${String(size % 1_000_000n).padStart(6, '0')}`
}
