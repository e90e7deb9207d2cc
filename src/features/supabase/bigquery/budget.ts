import { maxCallerBytes } from '../../../core/sql/check.ts'
import { refuse } from './token-reader.ts'

/** Operators without brackets nest, too. */
const maxDepth = 300
/** The engine reads the tables of a named subquery each time it is used. */
const maxTables = 500
/** UNNESTs in the text. They are paths, which cost the engine nothing until they are read. */
const maxUnnests = 300
/** Of all expressions and queries together, in which parts occur again. */
const maxProduced = 16 * maxCallerBytes

/** What one translation may take: short SQL can have a long translation, and the service does nothing else meanwhile. */
export class Budget {
  readonly #sql: string
  #produced = 0
  #depth = 0
  #names = 0
  #unnests = 0
  tables = 0

  constructor(sql: string) {
    this.#sql = sql
  }

  readonly refuse = (message: string, at: number) => refuse(message, this.#sql, at)

  /** A name that no other table or value of the translation has. */
  name(kind: 'T' | 'F'): string {
    return `${kind}${++this.#names}`
  }

  produce(text: string, at: number): string {
    const bytes = Buffer.byteLength(text)
    this.#produced += bytes
    if (bytes <= maxCallerBytes && this.#produced <= maxProduced) return text
    const message = `The query is too complex: its translation is longer than ${maxCallerBytes} bytes. Make it shorter.`
    throw this.refuse(message, at)
  }

  read(tables: number, at: number): void {
    this.tables += tables
    if (this.tables > maxTables) throw this.refuse(`The query reads more than ${maxTables} tables.`, at)
  }

  unnest(at: number): void {
    if (++this.#unnests > maxUnnests) throw this.refuse(`The query has more than ${maxUnnests} UNNESTs.`, at)
  }

  /** Counts levels of all expressions around this one, also of those that contain its query. */
  nested<T>(at: number, translate: () => T): T {
    if (++this.#depth > maxDepth) throw this.refuse(`An expression has more than ${maxDepth} levels.`, at)
    const translated = translate()
    this.#depth--
    return translated
  }
}
