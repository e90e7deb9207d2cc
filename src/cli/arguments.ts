import { InvalidArgumentError } from 'commander'
import { parseIsoTimestamp } from '../base/timestamps.ts'

export function collect(value: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), value]
}

/** Collects name=value pairs into an object; the value may contain equals signs. */
export function collectPair(
  value: string,
  before: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const at = value.indexOf('=')
  if (at < 1) throw new InvalidArgumentError(`"${value}" must be name=value.`)
  const name = value.slice(0, at)
  if (before && Object.hasOwn(before, name)) throw new InvalidArgumentError(`${name} is set twice.`)
  // Unlike an assignment, this creates an own property for the name __proto__, too.
  return Object.fromEntries([...Object.entries(before ?? {}), [name, value.slice(at + 1)]])
}

export function wholeNumber(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
    if (number >= min && number <= max) return number
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
  }
}

export const versionNumber = wholeNumber(1, 999_999_999)

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

/** Parses a time span from now, such as 30d, or an ISO 8601 time; returns ISO 8601. */
export function instant(nowMs: () => number): (value: string) => string {
  return (value) => {
    const span = /^(\d{1,6})([smhdw])$/.exec(value)
    if (span) {
      return new Date(nowMs() + Number(span[1]) * unitMs[span[2] as keyof typeof unitMs]).toISOString()
    }
    const isDay = /^\d{4}-\d{2}-\d{2}$/.test(value)
    const micros = parseIsoTimestamp(isDay ? `${value}T00:00:00Z` : value)
    if (micros !== undefined) return new Date(Number(micros / 1000n)).toISOString()
    throw new InvalidArgumentError('It must be a time such as 30d, 12h, or 2027-01-31T12:00:00Z.')
  }
}
