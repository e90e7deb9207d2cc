import type { WellheadError } from '../../base/errors.ts'
import { refuse, type Token, tokensOf } from './tokens.ts'

/** Deeper SQL would exhaust the stack. */
const maxNesting = 100
/** As in BigQuery. Names of columns occur many times in a translation. */
const maxName = 300

/** Walks through the tokens of a statement. Words ignore case; callers write them in lower case. */
export class TokenReader {
  readonly #sql: string
  readonly #tokens: readonly Token[]
  #index = 0
  #depth = 0

  constructor(sql: string) {
    this.#sql = sql
    this.#tokens = tokensOf(sql)
  }

  get current(): Token {
    return this.#tokens[this.#index] as Token
  }

  get next(): Token {
    return this.#tokens[this.#index + 1] ?? this.current
  }

  get at(): number {
    return this.current.start
  }

  take(): Token {
    const { current } = this
    if (current.kind !== 'end') this.#index++
    return current
  }

  nested<T>(read: () => T): T {
    if (++this.#depth > maxNesting)
      throw this.refuse(`The SQL is nested more than ${maxNesting} levels deep.`)
    const found = read()
    this.#depth--
    return found
  }

  /** Whether these words and symbols follow. */
  is(...texts: readonly string[]): boolean {
    return texts.every((text, ahead) => this.#tokens[this.#index + ahead]?.key === text)
  }

  skip(...texts: readonly string[]): boolean {
    if (!this.is(...texts)) return false
    this.#index += texts.length
    return true
  }

  oneOf(texts: readonly string[]): string | undefined {
    const { key } = this.current
    if (!texts.includes(key)) return undefined
    this.#index++
    return key
  }

  expect(text: string): void {
    if (!this.skip(text)) throw this.unexpected(/^\w/.test(text) ? text.toUpperCase() : `"${text}"`)
  }

  inBrackets<T>(read: () => T): T {
    this.expect('(')
    const found = read()
    this.expect(')')
    return found
  }

  /** Items with commas between them, also after the last one if one of these ends the list. */
  list<T>(item: () => T, ends: readonly string[] = []): T[] {
    const items: T[] = []
    do {
      if (ends.some((end) => this.is(end)) || (ends.length > 0 && this.current.kind === 'end')) break
      items.push(item())
    } while (this.skip(','))
    return items
  }

  name(expected: string): string {
    const { kind, text } = this.current
    if (kind !== 'name' && kind !== 'word') throw this.unexpected(expected)
    if (text === '') throw this.refuse('A name in backticks is empty.')
    if (text.length > maxName) throw this.refuse(`A name is longer than ${maxName} characters.`)
    this.#index++
    return text
  }

  wholeNumber(expected: string): number {
    const { kind, text } = this.current
    if (kind !== 'number' || !/^\d{1,9}$/.test(text)) throw this.unexpected(expected)
    this.#index++
    return Number(text)
  }

  /** Whether a query starts here, after any number of brackets that is allowed. */
  startsQuery(): boolean {
    let index = this.#index
    const last = index + maxNesting
    while (index < last && this.#tokens[index]?.key === '(') index++
    return /^(?:select|with)$/.test(this.#tokens[index]?.key ?? '')
  }

  unexpected(expected: string): WellheadError {
    const { kind, text } = this.current
    const found = kind === 'end' ? 'the end of the query' : `"${text.slice(0, 50)}"`
    return this.refuse(`Syntax error: expected ${expected} but found ${found}.`)
  }

  refuse(message: string, at = this.at): WellheadError {
    return refuse(message, this.#sql, at)
  }
}
