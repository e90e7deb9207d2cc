import type { CsvField } from './csv.ts'
import { parseIsoInstant, parseIsoTimestamp } from './timestamps.ts'

export const columnTypes = ['text', 'number', 'boolean', 'timestamp'] as const
export type ColumnType = (typeof columnTypes)[number]

export const columnName = /^[A-Za-z][A-Za-z0-9_]{0,63}$/

/** A column of a table that users fill. */
export interface TableColumn {
  name: string
  type: ColumnType
}

export type Value = CsvField | number | boolean
export type Row = readonly Value[]

/** Times that the engine's type can hold. */
const [earliest, latest] = [
  parseIsoTimestamp('1900-01-01T00:00:00Z'),
  parseIsoTimestamp('2299-12-31T23:59:59Z'),
]

/** Longer ones with a fraction may not be exact, unless they are what the number is written as. */
const maxNumberLength = 16

/** Zeros before a number are part of a name, such as 00123. */
function isPlainNumber(value: string): boolean {
  const number = Number(value)
  const isExact = value.includes('.')
    ? value.length <= maxNumberLength || String(number) === value
    : Number.isSafeInteger(number)
  const isWritten = isExact && /^[-.\d]+$/.test(value) && /^-?\d/.test(value)
  return isWritten && /\d$/.test(value) && !/^-?0\d/.test(value) && Number.isFinite(number)
}

const told = ['boolean', 'number', 'timestamp'] as const

/** Tells the types of columns from rows: text, unless every value has another type. */
export class TypeTeller {
  readonly #names: readonly string[]
  readonly #isTyped: boolean
  readonly #possible: Set<ColumnType>[]
  readonly #seen: boolean[]
  rows = 0

  /** `isTyped`: texts are no numbers and no booleans. */
  constructor(names: readonly string[], isTyped = false) {
    this.#names = names
    this.#isTyped = isTyped
    // Tenants are compared with it.
    this.#possible = names.map((name) => new Set(name === 'project' ? [] : told))
    this.#seen = names.map(() => false)
  }

  add(row: Row): void {
    this.rows++
    // A table may have 200 million values.
    for (let at = 0; at < row.length; at++) {
      const value = row[at] as Value
      if (value === null) continue
      const possible = this.#possible[at] as Set<ColumnType>
      this.#seen[at] = true
      const isText = this.#isTyped && typeof value === 'string'
      for (const type of possible)
        if (!isPlainly(type, value) || (isText && type !== 'timestamp')) possible.delete(type)
    }
  }

  get columns(): TableColumn[] {
    return this.#names.map((name, at) => {
      const [type = 'text'] = this.#seen[at] ? (this.#possible[at] as Set<ColumnType>) : []
      return { name, type }
    })
  }
}

export function isPlainly(type: ColumnType, value: Exclude<Value, null>): boolean {
  if (typeof value !== 'string') return typeof value === type
  if (type === 'number') return isPlainNumber(value)
  if (type === 'boolean') return /^(?:true|false)$/i.test(value)
  return type === 'text' || microsOf(value) !== undefined
}

export function microsOf(value: string): bigint | undefined {
  const micros = parseIsoInstant(value.trim())
  return micros !== undefined && micros >= (earliest as bigint) && micros <= (latest as bigint)
    ? micros
    : undefined
}
