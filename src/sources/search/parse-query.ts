import { invalidParameter, type WellheadError } from '../../base/errors.ts'

export type FieldTest =
  | { is: 'eq' | 'prefix' | 'suffix' | 'contains'; value: string }
  | { is: 'number'; min?: Bound; max?: Bound }
  | { is: 'exists' }

interface Bound {
  value: number
  inclusive: boolean
}

export interface FieldNode {
  kind: 'field'
  name: string
  test: FieldTest
  /** As it was written, without NOT. */
  text: string
  /** Position of the name and of the value in the query, from 1. */
  at: number
  valueAt: number
}

export type QueryNode =
  | { kind: 'and' | 'or'; parts: readonly QueryNode[] }
  | { kind: 'not'; part: QueryNode }
  /** A word or a phrase, in the message or in metadata. */
  | { kind: 'text'; value: string }
  | FieldNode

export const queryLimits = { maxLength: 5_000, maxConditions: 50, maxDepth: 20 } as const

/** A field before its colon. What follows `https` in an address is not a value. */
const fieldName = /([\p{L}_@$](?:[^\s":()]|(?<=\.)"(?:[^"\\]|\\.)*")*):(?!\/\/)/uy
export const numberPattern = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i
const rangeEnd = /^(?:[+-]?(?:\d+(?:\.\d*)?|\.\d+))?$/
const comparison = /^(>=|<=|>|<)(.*)$/s

export function parseQuery(query: string, maxConditions: number = queryLimits.maxConditions): QueryNode {
  const { maxLength } = queryLimits
  if (query.length > maxLength) {
    throw invalidParameter(
      'query',
      `query must be at most ${maxLength} characters long; it has ${query.length}.`,
    )
  }
  return new QueryParser(query, maxConditions).parse()
}

export function misunderstood(message: string): WellheadError {
  return invalidParameter('query', message)
}

/** The field that a group of values in brackets belongs to. */
type GroupField = Pick<FieldNode, 'name' | 'at'> | undefined

/** Reads each character once or twice, so the time is linear. */
class QueryParser {
  readonly #text: string
  readonly #maxConditions: number
  #at = 0
  #conditions = 0

  constructor(text: string, maxConditions: number) {
    this.#text = text
    this.#maxConditions = maxConditions
  }

  parse(): QueryNode {
    this.#skipSpace()
    if (this.#isAtEnd()) return { kind: 'and', parts: [] }
    const node = this.#or(undefined, 0)
    if (!this.#isAtEnd()) throw misunderstood(`Unexpected closing bracket at character ${this.#at + 1}.`)
    return node
  }

  #or(field: GroupField, depth: number): QueryNode {
    const parts = [this.#and(field, depth)]
    while (this.#takeWord('OR')) parts.push(this.#and(field, depth, 'OR'))
    return parts.length === 1 ? (parts[0] as QueryNode) : { kind: 'or', parts }
  }

  #and(field: GroupField, depth: number, after?: string): QueryNode {
    const parts = [this.#negated(field, depth, after)]
    for (;;) {
      if (this.#takeWord('AND')) parts.push(this.#negated(field, depth, 'AND'))
      else if (this.#isAtEnd() || this.#text[this.#at] === ')' || this.#isWord('OR')) break
      else parts.push(this.#negated(field, depth))
    }
    return parts.length === 1 ? (parts[0] as QueryNode) : { kind: 'and', parts }
  }

  #negated(field: GroupField, depth: number, after?: string): QueryNode {
    const { maxDepth } = queryLimits
    if (depth > maxDepth) {
      throw misunderstood(`More than ${maxDepth} nested brackets or NOT at character ${this.#at + 1}.`)
    }
    const at = this.#at
    if (this.#takeWord('NOT')) return { kind: 'not', part: this.#negated(field, depth + 1, 'NOT') }
    // A dash alone, or before another one, is text.
    if (/^-[^\s-)]/.test(this.#text.slice(at, at + 2))) {
      this.#at++
      return { kind: 'not', part: this.#negated(field, depth + 1) }
    }
    return this.#operand(field, depth, after)
  }

  #operand(field: GroupField, depth: number, after?: string): QueryNode {
    const at = this.#at
    for (const word of ['OR', 'AND']) {
      if (this.#isWord(word)) {
        throw misunderstood(
          `${word} at character ${at + 1} has nothing before it. To search for the word, write "${word}".`,
        )
      }
    }
    if (this.#isAtEnd() || this.#text[at] === ')') {
      if (after !== undefined) throw misunderstood(`Nothing follows ${after} at character ${at + 1}.`)
      throw misunderstood(
        depth === 0
          ? `Unexpected closing bracket at character ${at + 1}.`
          : `Empty brackets at character ${at + 1}.`,
      )
    }
    if (this.#text[at] === '(') return this.#group(field, depth)
    if (++this.#conditions > this.#maxConditions) {
      throw misunderstood(
        `The query has more than ${this.#maxConditions} conditions, from character ${at + 1} on. Use fewer.`,
      )
    }
    if (field) return this.#value(field)
    const name = this.#takeFieldName()
    if (name === undefined) return this.#message()
    if (this.#text[this.#at] === '(') return this.#group({ name, at: at + 1 }, depth)
    return this.#value({ name, at: at + 1 })
  }

  #group(field: GroupField, depth: number): QueryNode {
    const at = this.#at++
    this.#skipSpace()
    const node = this.#or(field, depth + 1)
    if (this.#isAtEnd()) throw misunderstood(`Unclosed bracket at character ${at + 1}.`)
    this.#at++
    this.#skipSpace()
    return node
  }

  /** A name and its colon, or undefined if there is none. */
  #takeFieldName(): string | undefined {
    const start = this.#at
    if (this.#text[start] === '"') {
      const name = this.#phrase()
      const isName = name !== '' && this.#text[this.#at] === ':'
      this.#at = isName ? this.#at + 1 : start
      return isName ? name : undefined
    }
    fieldName.lastIndex = start
    const name = fieldName.exec(this.#text)?.[1]
    if (name !== undefined) this.#at = fieldName.lastIndex
    return name
  }

  #value({ name, at }: NonNullable<GroupField>): FieldNode {
    const valueAt = this.#at + 1
    const isQuoted = this.#text[this.#at] === '"'
    const value = isQuoted ? this.#phrase() : this.#word()
    const text = `${name}:${this.#text.slice(valueAt - 1, this.#at)}`
    this.#skipSpace()
    if (!isQuoted && value === '') {
      throw misunderstood(
        `Nothing follows "${name}:" at character ${valueAt}. Write the value without a space before it. ` +
          'To search for this text, put it in quotes.',
      )
    }
    const test: FieldTest = isQuoted ? { is: 'eq', value } : testOf(value, valueAt)
    return { kind: 'field', name, test, text, at, valueAt }
  }

  #message(): QueryNode {
    const at = this.#at
    const isQuoted = this.#text[at] === '"'
    const value = isQuoted ? this.#phrase() : this.#word()
    this.#skipSpace()
    if (isQuoted && value === '') throw misunderstood(`Empty quotes at character ${at + 1}.`)
    if (isQuoted) return { kind: 'text', value }
    if (value === '*') return { kind: 'and', parts: [] }
    return { kind: 'text', value: withoutStars(value, at + 1) }
  }

  /** Up to a space, a quote, or a bracket that was not opened inside of the word, as in `count(*)`. */
  #word(): string {
    const start = this.#at
    let depth = 0
    for (; this.#at < this.#text.length; this.#at++) {
      const character = this.#text[this.#at] as string
      if (character === '(') depth++
      if (character === ')' && depth-- === 0) break
      if (character === '"' || isSpace(character)) break
    }
    return this.#text.slice(start, this.#at)
  }

  #phrase(): string {
    const start = this.#at++
    let value = ''
    for (; this.#at < this.#text.length; this.#at++) {
      let character = this.#text[this.#at] as string
      if (character === '"') {
        this.#at++
        return value
      }
      if (character === '\\' && this.#at + 1 < this.#text.length) character = this.#text[++this.#at] as string
      value += character
    }
    throw misunderstood(`Unclosed quote at character ${start + 1}.`)
  }

  #isWord(word: string): boolean {
    if (!this.#text.startsWith(word, this.#at)) return false
    const next = this.#text[this.#at + word.length]
    return next === undefined || next === '(' || next === ')' || isSpace(next)
  }

  #takeWord(word: string): boolean {
    if (!this.#isWord(word)) return false
    this.#at += word.length
    this.#skipSpace()
    return true
  }

  #skipSpace(): void {
    while (!this.#isAtEnd() && isSpace(this.#text[this.#at] as string)) this.#at++
  }

  #isAtEnd(): boolean {
    return this.#at >= this.#text.length
  }
}

function isSpace(character: string): boolean {
  return /\s/.test(character)
}

function testOf(value: string, at: number): FieldTest {
  if (value === '*') return { is: 'exists' }
  const [, sign, compared] = comparison.exec(value) ?? []
  if (sign !== undefined && compared !== undefined) {
    const bound = { value: numberOf(compared, sign, at), inclusive: sign.endsWith('=') }
    return { is: 'number', ...(sign.startsWith('>') ? { min: bound } : { max: bound }) }
  }
  // A dot before or after the two may belong to a number.
  for (const dots of new Set([value.lastIndexOf('..'), value.indexOf('..')])) {
    const [low, high] = [value.slice(0, dots), value.slice(dots + 2)]
    if (dots >= 0 && value !== '..' && rangeEnd.test(low) && rangeEnd.test(high)) {
      return between(low, high, value, at)
    }
  }
  const stars = value.replaceAll('*', '').length
  if (stars === value.length) return { is: 'eq', value }
  const inner = withoutStars(value, at)
  if (value.startsWith('*')) return { is: value.endsWith('*') ? 'contains' : 'suffix', value: inner }
  return { is: 'prefix', value: inner }
}

function between(low: string, high: string, value: string, at: number): FieldTest {
  const [min, max] = [low, high].map((text) =>
    text === '' ? undefined : { value: Number(text), inclusive: true },
  )
  if (min && max && min.value > max.value) {
    throw misunderstood(
      `The range ${value} at character ${at} is empty. Write the smaller number first: ${high}..${low}.`,
    )
  }
  return { is: 'number', ...(min && { min }), ...(max && { max }) }
}

function numberOf(text: string, sign: string, at: number): number {
  const value = Number(text)
  if (numberPattern.test(text) && Number.isFinite(value)) return value
  throw misunderstood(
    text === ''
      ? `Nothing follows ${sign} at character ${at}. Write a number, without a space before it.`
      : `"${text.slice(0, 60)}" at character ${at + sign.length} is not a number. Only numbers can be compared with ${sign}.` +
          (/^\d{4}-\d\d/.test(text) ? ' To limit the time of entries, use the time range.' : ''),
  )
}

/** Without the asterisks at both ends. */
function withoutStars(value: string, at: number): string {
  const inner = value.replace(/^\*/, '').replace(/\*$/, '')
  const star = inner.indexOf('*')
  if (star === -1 && inner !== '') return inner
  const place = at + (value.startsWith('*') ? 1 : 0) + Math.max(0, star)
  throw misunderstood(
    `An asterisk at character ${place} must be the first or last character of a value. To search for asterisks, use quotes.`,
  )
}
