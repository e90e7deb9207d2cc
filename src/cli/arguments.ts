import { InvalidArgumentError } from 'commander'
import { parseIsoTimestamp } from '../base/timestamps.ts'

/** For options that may be given several times. */
export function collect(value: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), value]
}

/** Gathers k=v into an object; the value may hold more equals signs. */
export function collectPair(
  value: string,
  before: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const at = value.indexOf('=')
  if (at < 1) throw new InvalidArgumentError(`"${value}" is not name=value.`)
  const name = value.slice(0, at)
  if (before && Object.hasOwn(before, name)) throw new InvalidArgumentError(`${name} is given twice.`)
  // An own member whatever its name is, also __proto__.
  return Object.fromEntries([...Object.entries(before ?? {}), [name, value.slice(at + 1)]])
}

/** A whole number within bounds. */
export function wholeNumber(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
    if (number >= min && number <= max) return number
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
  }
}

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

/** An instant from now on, as 30d or 12h, or one in ISO 8601; given back in ISO 8601. */
export function instant(nowMs: () => number): (value: string) => string {
  return (value) => {
    const span = /^(\d{1,6})([smhdw])$/.exec(value)
    if (span) {
      return new Date(nowMs() + Number(span[1]) * unitMs[span[2] as keyof typeof unitMs]).toISOString()
    }
    const day = /^\d{4}-\d{2}-\d{2}$/.test(value)
    const micros = parseIsoTimestamp(day ? `${value}T00:00:00Z` : value)
    if (micros !== undefined) return new Date(Number(micros / 1000n)).toISOString()
    throw new InvalidArgumentError('It must be a time such as 30d, 12h, or 2027-01-31T12:00:00Z.')
  }
}
