import { invalidQuery, type WellheadError } from '../../../core/base/errors.ts'
import { callerTokens } from '../../../core/sql/check.ts'
import { positionOf } from '../../../core/sql/edits.ts'
import { identifierOf } from '../../../core/sql/tokens.ts'

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

interface Token {
  kind: 'word' | 'name' | 'string' | 'number' | 'symbol' | 'end'
  /** As written; the value of a string, and the name in backticks. */
  text: string
  /** A word in lower case, or a symbol: what the grammar compares with. Empty for others. */
  key: string
  start: number
}

const pairs = new Set(['<=', '>=', '<>', '!=', '||', '::'])

/** Reads BigQuery SQL. Its tokens are those of the engine's SQL, except that double quotes enclose strings. */
function tokensOf(sql: string): Token[] {
  const tokens: Token[] = []
  let end = 0
  for (const token of callerTokens(sql)) {
    const { kind, text, start } = token
    const last = end === start ? tokens.at(-1) : undefined
    end = token.end
    const first = text.charAt(0)
    if (kind === 'unterminated') {
      const what = first === '/' ? 'comment' : first === '`' ? 'name in backticks' : 'string'
      throw refuse(`A ${what} is not closed.`, sql, start)
    }
    if (kind === 'parameter') {
      throw refuse('Parameters such as @name are not supported. Write the value instead.', sql, start)
    }
    if (first === "'" || first === '"') {
      const prefix = last?.kind === 'word' && /^[rb]{1,2}$/i.test(last.text) ? last.text.toLowerCase() : ''
      // Studio doubles a single quote, also at the start and at the end of a string.
      const isOpen = /\w/.test(sql.charAt(end)) && !text.endsWith("'''")
      const isTriple = first === '"' || prefix !== '' || isOpen
      if (isTriple && text.startsWith(first.repeat(3)))
        throw refuse('Strings in triple quotes are not supported. Use one quote on each side.', sql, start)
      if (prefix.includes('b'))
        throw refuse('Bytes such as b"…" are not supported. Use a string.', sql, start)
      if (prefix !== '') tokens.pop()
      tokens.push({ kind: 'string', text: stringValue(text, prefix === 'r'), key: '', start })
    } else if (first === '`') tokens.push({ kind: 'name', text: identifierOf(token) ?? '', key: '', start })
    else if (kind === 'symbol' && last?.kind === 'symbol' && pairs.has(last.text + text)) {
      last.text += text
      last.key = last.text
    } else if (kind === 'word' || kind === 'number' || kind === 'symbol')
      tokens.push({ kind, text, key: kind === 'number' ? '' : text.toLowerCase(), start })
    else throw refuse(`Unexpected character "${text}".`, sql, start)
  }
  tokens.push({ kind: 'end', text: '', key: '', start: sql.length })
  return tokens
}

const escapes: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', a: '\x07', v: '\v' }

/** Studio doubles a quote inside of a string, as in PostgreSQL. */
function stringValue(written: string, isRaw: boolean): string {
  const quote = written.charAt(0)
  const inner = written.slice(1, -1)
  if (isRaw) return inner
  const escaped = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|([\s\S]))|(['"])\4/g
  const text = inner.replace(escaped, (whole, hex, point, next, doubled) => {
    if (doubled) return doubled === quote ? quote : whole
    if (next === undefined) return String.fromCodePoint(Number.parseInt(hex ?? point, 16))
    // Postgres keeps the backslash of an escape that it does not know, and Studio's regular expressions rely on it.
    return escapes[next] ?? (/[\\'"`?]/.test(next) ? next : whole)
  })
  return text.toWellFormed()
}

/** The SQL is refused, with the position in the text as it was sent. */
export function refuse(message: string, sql: string, at: number): WellheadError {
  return invalidQuery(message, positionOf(sql, at))
}
