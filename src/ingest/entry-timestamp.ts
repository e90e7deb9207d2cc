import { parseIsoTimestamp } from '../base/timestamps.ts'

/** Below these the integer counts seconds, milliseconds, microseconds; above, nanoseconds. */
const bounds = { seconds: 10n ** 11n, millis: 10n ** 14n, micros: 10n ** 17n } as const

/** What the engine's column can hold. */
const earliest = BigInt(Date.UTC(1900, 0, 1)) * 1000n
const latest = BigInt(Date.UTC(2299, 11, 31)) * 1000n

/** Microseconds since 1970, of an ISO 8601 text or of an integer whose unit is told by its size. */
export function readTimestamp(value: unknown): bigint | undefined {
  const micros = typeof value === 'string' ? fromText(value) : fromNumber(value)
  return micros !== undefined && micros >= earliest && micros < latest ? micros : undefined
}

function fromText(text: string): bigint | undefined {
  return ofKnownDay(text) ?? (/^-?\d{9,20}$/.test(text) ? fromInteger(BigInt(text)) : parseIsoTimestamp(text))
}

/** The form that nearly all senders use. */
const usualForm = /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,9}))?Z$/

const known = { day: '', midnightMicros: 0 }

/** Most entries are of the day of the one before, and to find out about a day is what takes long. */
function ofKnownDay(text: string): bigint | undefined {
  const [, day, hour, minute, second, fraction = ''] = usualForm.exec(text) ?? []
  if (day === undefined) return undefined
  if (day !== known.day) {
    const midnight = parseIsoTimestamp(`${day}T00:00:00Z`)
    if (midnight === undefined) return undefined
    known.midnightMicros = Number(midnight)
    known.day = day
  }
  const seconds = Number(hour) * 3600 + Number(minute) * 60 + Number(second)
  const micros = known.midnightMicros + seconds * 1_000_000 + Number(fraction.padEnd(6, '0').slice(0, 6))
  return Number.isSafeInteger(micros) ? BigInt(micros) : undefined
}

function fromNumber(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return fromInteger(value)
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined
  // Seconds with a fraction are what several languages call a timestamp.
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
