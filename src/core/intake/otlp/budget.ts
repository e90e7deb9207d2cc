import { invalidBody, tooLarge } from '../../base/errors.ts'
import { maxEntries } from '../entry-batch.ts'

/** A record or a value takes two bytes in a request and hundreds in memory, so the size of a body is not enough of a limit. */
export const otlpLimits = {
  maxRecords: maxEntries,
  maxSources: 1_000,
  /** Resources and scopes. */
  maxGroups: 250_000,
  /** Attributes, array elements and list members. */
  maxValues: 1_000_000,
  /** Levels of arrays and lists in one value. */
  maxDepth: 64,
  /** Fields of protobuf or values of JSON, including unknown ones; an attribute takes four. */
  maxFields: 4_000_000,
  /** JSON bytes that resources and scopes may add by being written into each of their records. */
  maxRepeatedBytes: 64 * 2 ** 20,
} as const

/** Counts what one request contains, and throws at the first limit. */
export class OtlpBudget {
  #records = 0
  #groups = 0
  #values = 0
  #fields = 0
  #repeatedBytes = 0

  record(): void {
    if (++this.#records > otlpLimits.maxRecords) throw tooMany(otlpLimits.maxRecords, 'log records')
  }

  group(): void {
    if (++this.#groups > otlpLimits.maxGroups) throw tooMany(otlpLimits.maxGroups, 'resources and scopes')
  }

  value(depth: number): void {
    if (depth > otlpLimits.maxDepth) {
      throw invalidBody(`A value is nested more than ${otlpLimits.maxDepth} levels deep.`)
    }
    if (++this.#values > otlpLimits.maxValues) throw tooMany(otlpLimits.maxValues, 'values')
  }

  fields(count: number): void {
    this.#fields += count
    if (this.#fields > otlpLimits.maxFields) throw tooMany(otlpLimits.maxFields, 'fields')
  }

  /** Spends the copies of attributes beyond the first, which is as large as what was sent. */
  repeat(shared: unknown, copies: number): void {
    if (shared === undefined || copies < 2) return
    this.#repeatedBytes += JSON.stringify(shared).length * (copies - 1)
    if (this.#repeatedBytes > otlpLimits.maxRepeatedBytes) {
      throw tooLarge(
        'Resource and scope attributes are too large when written into each record. Send smaller batches.',
      )
    }
  }
}

function tooMany(limit: number, unit: string): Error {
  return tooLarge(`A request may have at most ${limit} ${unit}. Send smaller batches.`)
}
