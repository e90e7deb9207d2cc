import { invalidBody, tooLarge } from '../../base/errors.ts'
import { maxEntries } from '../log-entries.ts'

/**
 * A record or a value can be sent in two bytes and takes hundreds in memory, so the size of a body bounds too little.
 */
export const otlpLimits = {
  maxRecords: maxEntries,
  /** Names of sources. */
  maxSources: 1_000,
  /** Resources and scopes. */
  maxGroups: 250_000,
  /** Attributes, elements of arrays, members of lists. */
  maxValues: 1_000_000,
  /** Levels of arrays and lists inside of one value. */
  maxDepth: 64,
  /** What the wire may spend on all of the above, unknown fields included; a value takes four. */
  maxFields: 4_000_000,
  /** What resources and scopes may add by being written into each of their records, counted as JSON. */
  maxRepeatedBytes: 64 * 2 ** 20,
} as const

export type Attributes = Record<string, unknown>

/** Counts what one request makes. */
export class OtlpBudget {
  #records = 0
  #groups = 0
  #values = 0
  #fields = 0
  #repeatedBytes = 0

  record(): void {
    this.#records += 1
    if (this.#records > otlpLimits.maxRecords) throw tooMany(otlpLimits.maxRecords, 'log records')
  }

  group(): void {
    this.#groups += 1
    if (this.#groups > otlpLimits.maxGroups) throw tooMany(otlpLimits.maxGroups, 'resources and scopes')
  }

  value(depth: number): void {
    if (depth > otlpLimits.maxDepth) {
      throw invalidBody(`A value is nested deeper than ${otlpLimits.maxDepth} levels.`)
    }
    this.#values += 1
    if (this.#values > otlpLimits.maxValues) throw tooMany(otlpLimits.maxValues, 'values')
  }

  /** A field of protobuf, or a mark of the syntax of JSON. */
  field(): void {
    this.#fields += 1
    if (this.#fields > otlpLimits.maxFields) throw tooMany(otlpLimits.maxFields, 'fields')
  }

  /** The first copy is as large as what was sent; those after it are what grows. */
  repeat(shared: unknown, copies: number): void {
    if (shared === undefined || copies < 2) return
    this.#repeatedBytes += JSON.stringify(shared).length * (copies - 1)
    if (this.#repeatedBytes > otlpLimits.maxRepeatedBytes) {
      throw tooLarge(
        'Resource and scope attributes, written into each record, are too large: send smaller batches.',
      )
    }
  }
}

function tooMany(limit: number, things: string): Error {
  return tooLarge(`A request may have up to ${limit} ${things}: send smaller batches.`)
}

export function integerValue(value: bigint): number | string {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

/**
 * JSON has no NaN and no infinity; OTLP/JSON writes them as these texts too. A double that is written like an integer
 * beyond 64 bits would make the entry unreadable.
 */
export function doubleValue(value: number): number | string {
  const size = Math.abs(value)
  return Number.isFinite(value) && (size < 2 ** 63 || size >= 1e21) ? value : String(value)
}

/** A key is data: one that is called __proto__ becomes a member like any other. */
export function withMember(target: Attributes, key: string, value: unknown): Attributes {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
  } else {
    target[key] = value
  }
  return target
}

/** An id of zeros only means that there is none. */
export function hexId(hex: string): string {
  return /[^0]/.test(hex) ? hex.toLowerCase() : ''
}
