import { invalidBody, tooLarge } from '../base/errors.ts'

export const otlpLimits = {
  /** Levels of arrays and lists inside of one value. */
  maxDepth: 64,
  maxRecords: 250_000,
  maxGroups: 250_000,
  /** A value can be sent in two bytes and takes a hundred in memory, so the size of the body bounds too little. */
  maxValues: 4_000_000,
  /** What resources and scopes may add by being written into each of their records, counted as JSON. */
  maxRepeatedBytes: 64 * 2 ** 20,
} as const

export type Attributes = Record<string, unknown>

/** Counts what one request makes, so that a small body cannot become a large heap. */
export class OtlpBudget {
  #groups = 0
  #records = 0
  #values = 0
  #repeatedBytes = 0

  /** A resource or a scope. */
  group(): void {
    this.#groups += 1
    if (this.#groups > otlpLimits.maxGroups) {
      throw tooLarge(`A request may have up to ${otlpLimits.maxGroups} resources and scopes.`)
    }
  }

  record(): void {
    this.#records += 1
    if (this.#records > otlpLimits.maxRecords) {
      throw tooLarge(`A request may have up to ${otlpLimits.maxRecords} log records.`)
    }
  }

  value(depth: number): void {
    if (depth > otlpLimits.maxDepth) {
      throw invalidBody(`A value is nested deeper than ${otlpLimits.maxDepth} levels.`)
    }
    this.#values += 1
    if (this.#values > otlpLimits.maxValues) {
      throw tooLarge(`A request may have up to ${otlpLimits.maxValues} values.`)
    }
  }

  /** The first copy is as large as what was sent; those after it are what grows. */
  repeat(shared: unknown, copies: number): void {
    if (copies < 2) return
    this.#repeatedBytes += JSON.stringify(shared).length * (copies - 1)
    if (this.#repeatedBytes > otlpLimits.maxRepeatedBytes) {
      throw tooLarge(
        'Resource and scope attributes, written into each record, are too large: send smaller batches.',
      )
    }
  }
}

export function integerValue(value: bigint): number | string {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

/** JSON has no NaN and no infinity; OTLP/JSON writes them as these texts too. */
export function doubleValue(value: number): number | string {
  return Number.isFinite(value) ? value : String(value)
}

/** A key is data: one that is called __proto__ becomes a member like any other. */
export function setMember(target: Attributes, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
  } else {
    target[key] = value
  }
}

/** An id of zeros only means that there is none. */
export function hexId(hex: string): string {
  return /[^0]/.test(hex) ? hex.toLowerCase() : ''
}
