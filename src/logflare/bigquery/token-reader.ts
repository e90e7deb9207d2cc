import type { WellheadError } from '../../base/errors.ts'
import { refuse, type Token, tokensOf } from './tokens.ts'

/** Deeper SQL would exhaust the stack. */
const maxNesting = 100

/** Walks through the tokens of a statement. */
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
    return this.#tokens[this.#index + 1] ?? (this.#tokens.at(-1) as Token)
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

  peekWord(word: string): boolean {
    return this.current.kind === 'word' && this.current.text.toLowerCase() === word
  }

  peekSymbol(symbol: string): boolean {
    return this.current.kind === 'symbol' && this.current.text === symbol
  }

  peekWordThenBracket(): boolean {
    return this.current.kind === 'word' && this.next.kind === 'symbol' && this.next.text === '('
  }

  /** Whether a star follows the name and the dot. */
  isStarAfterDot(): boolean {
    const star = this.#tokens[this.#index + 2]
    return star?.kind === 'symbol' && star.text === '*'
  }

  word(...words: string[]): boolean {
    const isThere = words.every((word, ahead) => {
      const token = this.#tokens[this.#index + ahead]
      return token?.kind === 'word' && token.text.toLowerCase() === word
    })
    if (isThere) this.#index += words.length
    return isThere
  }

  symbol(symbol: string): boolean {
    if (!this.peekSymbol(symbol)) return false
    this.#index++
    return true
  }

  oneOf(symbols: ReadonlySet<string>): string | undefined {
    const { kind, text } = this.current
    if (kind !== 'symbol' || !symbols.has(text)) return undefined
    this.#index++
    return text
  }

  expectWord(word: string): void {
    if (!this.word(word)) throw this.unexpected(word.toUpperCase())
  }

  expectSymbol(symbol: string): void {
    if (!this.symbol(symbol)) throw this.unexpected(`"${symbol}"`)
  }

  /** After a dot, any word is a name. */
  name(expected: string, isAnyWord = false): string {
    const { kind, text } = this.current
    if (kind !== 'name' && kind !== 'word' && !(isAnyWord && kind === 'number'))
      throw this.unexpected(expected)
    if (text === '') throw this.refuse('A name in backticks is empty.')
    this.#index++
    return text
  }

  wholeNumber(expected: string): number {
    const { kind, text } = this.current
    if (kind !== 'number' || !/^\d{1,9}$/.test(text)) throw this.unexpected(expected)
    this.#index++
    return Number(text)
  }

  /** Whether a query starts here, after any number of brackets. */
  startsQuery(): boolean {
    let index = this.#index
    while (this.#tokens[index]?.kind === 'symbol' && this.#tokens[index]?.text === '(') index++
    const token = this.#tokens[index]
    return token?.kind === 'word' && /^(?:select|with)$/i.test(token.text)
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
