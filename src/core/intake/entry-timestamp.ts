import { formatMicros, parseIsoInstant, parseIsoTimestamp } from '../../shared/timestamps.ts'

/** Upper bounds of seconds, milliseconds and microseconds; larger integers are nanoseconds. */
const bounds = { seconds: 10n ** 11n, millis: 10n ** 14n, micros: 10n ** 17n } as const

/** The range of the engine's column. */
const earliest = BigInt(Date.UTC(1900, 0, 1)) * 1000n
const latest = BigInt(Date.UTC(2299, 11, 31)) * 1000n

/** Microseconds since 1970, from ISO 8601 or from a number whose size determines its unit. */
export function readTimestamp(value: unknown): bigint | undefined {
  const micros = typeof value === 'string' ? fromText(value) : fromNumber(value)
  return micros !== undefined && micros >= earliest && micros < latest ? micros : undefined
}

function fromText(text: string): bigint | undefined {
  return /^-?\d{9,20}$/.test(text) ? fromInteger(BigInt(text)) : parseIsoInstant(text)
}

const lastDay = { day: 0, midnightMicros: 0 }

/**
 * Fast path for the form that nearly all senders use: YYYY-MM-DDTHH:MM:SS.ffffffZ, with up to nine decimals. Returns NaN
 * for any other. Caches the last day, which most entries share and which is slow to compute.
 */
export function readUsualTimestamp(bytes: Buffer, start: number, end: number): number {
  const decimals = end - start - 21
  if (decimals === 0 || decimals < -1 || decimals > 9) return Number.NaN
  if (bytes[start + 10] !== 0x54 || bytes[end - 1] !== 0x5a) return Number.NaN
  if (bytes[start + 13] !== 0x3a || bytes[start + 16] !== 0x3a) return Number.NaN
  const day =
    digits(bytes, start, 4) * 10_000 + digits(bytes, start + 5, 2) * 100 + digits(bytes, start + 8, 2)
  if (day !== lastDay.day) {
    const midnight = parseIsoTimestamp(`${bytes.toString('latin1', start, start + 10)}T00:00:00Z`)
    if (midnight === undefined) return Number.NaN
    lastDay.midnightMicros = Number(midnight)
    lastDay.day = day
  } else if (bytes[start + 4] !== 0x2d || bytes[start + 7] !== 0x2d) return Number.NaN
  const hour = digits(bytes, start + 11, 2)
  const minute = digits(bytes, start + 14, 2)
  const second = digits(bytes, start + 17, 2)
  if (!(hour < 24 && minute < 60 && second < 60)) return Number.NaN
  let fraction = 0
  if (decimals > 0) {
    if (bytes[start + 19] !== 0x2e) return Number.NaN
    const used = Math.min(decimals, 6)
    fraction = digits(bytes, start + 20, used) * 10 ** (6 - used)
    if (used < decimals) fraction += 0 * digits(bytes, start + 26, decimals - used)
  }
  const micros = lastDay.midnightMicros + (hour * 3600 + minute * 60 + second) * 1_000_000 + fraction
  return Number.isSafeInteger(micros) && micros >= 1_000_000 ? micros : Number.NaN
}

function digits(bytes: Buffer, start: number, count: number): number {
  let value = 0
  for (let at = start; at < start + count; at++) {
    const digit = (bytes[at] as number) - 0x30
    if (digit < 0 || digit > 9) return Number.NaN
    value = value * 10 + digit
  }
  return value
}

function fromNumber(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return fromInteger(value)
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined
  // Several languages write timestamps as seconds with a fraction.
  return Number.isInteger(value) ? fromInteger(BigInt(value)) : BigInt(Math.round(value * microsPer(value)))
}

function microsPer(value: number): number {
  return Math.abs(value) < Number(bounds.seconds) ? 1e6 : Math.abs(value) < Number(bounds.millis) ? 1e3 : 1
}

function fromInteger(value: bigint): bigint {
  const size = value < 0n ? -value : value
  if (size < bounds.seconds) return value * 1_000_000n
  if (size < bounds.millis) return value * 1_000n
  if (size < bounds.micros) return value
  return value / 1_000n
}

/** The text that the engine reads. */
export function timeText(micros: number | bigint): string {
  if (typeof micros === 'bigint' || micros < 1_000_000) return formatMicros(BigInt(micros))
  const digits = String(micros)
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`
}
