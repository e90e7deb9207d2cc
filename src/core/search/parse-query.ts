import type { TypedColumn } from '../catalog/source.ts'
import { numberOf } from '../sql/word.ts'
import {
  type FieldTest,
  fieldCondition,
  misunderstood,
  type SearchCondition,
  type WrittenField,
  wordCondition,
} from './search-condition.ts'

export const queryLimits = { maxLength: 5_000, maxConditions: 50, maxDepth: 20 } as const

/** A field before its colon, in quotes or not. What follows `https` in an address is not a value. */
const fieldName = /"((?:[^"\\]|\\.)+)":|([\p{L}_@$](?:[^\s":()]|(?<=\.)"(?:[^"\\]|\\.)*")*):(?!\/\/)/suy
const phrase = /"((?:[^"\\]|\\.)*)"/sy
const space = /\s*/y
const or = /OR(?=[\s()]|$)\s*/y
const and = /AND(?=[\s()]|$)\s*/y
const not = /NOT(?=[\s()]|$)\s*/y
/** A dash alone, or before another one, is text. */
const dash = /-(?=[^\s)-])/y
/** In the brackets of a field, the dash could exclude the number or range, or belong to it. */
const negative = /-((?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?(?:\.\.[+-]?[\d.]*)?)(?=[\s)]|$)/iy
const bracket = /\(\s*/y
const end = /\)|$/y
const rangeEnd = /^(?:[+-]?(?:\d+(?:\.\d*)?|\.\d+))?$/
const comparison = /^(>=|<=|>|<)(.*)$/s

const everything: SearchCondition = { kind: 'and', parts: [] }

export function readQuery(
  query: string,
  columns: readonly TypedColumn[],
  maxConditions: number = queryLimits.maxConditions,
): SearchCondition {
  const { maxLength } = queryLimits
  if (query.length > maxLength) {
    throw misunderstood(`query must be at most ${maxLength} characters long; it has ${query.length}.`)
  }
  return new QueryParser(query, columns, maxConditions).parse()
}

/** The field that a group of values in brackets belongs to. */
type GroupField = Pick<WrittenField, 'name' | 'at'> | undefined

/** Reads each character once or twice, so the time is linear. */
class QueryParser {
  readonly #text: string
  readonly #columns: readonly TypedColumn[]
  readonly #maxConditions: number
  #at = 0
  #conditions = 0

  constructor(text: string, columns: readonly TypedColumn[], maxConditions: number) {
    this.#text = text
    this.#columns = columns
    this.#maxConditions = maxConditions
  }

  parse(): SearchCondition {
    this.#take(space)
    if (this.#at === this.#text.length) return everything
    const condition = this.#or(undefined, 0)
    if (this.#at < this.#text.length) {
      throw misunderstood(`Unexpected closing bracket at character ${this.#at + 1}.`)
    }
    return condition
  }

  #or(field: GroupField, depth: number): SearchCondition {
    const parts = [this.#and(field, depth)]
    while (this.#take(or)) parts.push(this.#and(field, depth, 'OR'))
    return parts.length === 1 ? (parts[0] as SearchCondition) : { kind: 'or', parts }
  }

  #and(field: GroupField, depth: number, after?: string): SearchCondition {
    const parts = [this.#negated(field, depth, after)]
    while (!this.#isAt(end) && !this.#isAt(or)) {
      parts.push(this.#negated(field, depth, this.#take(and) ? 'AND' : undefined))
    }
    return parts.length === 1 ? (parts[0] as SearchCondition) : { kind: 'and', parts }
  }

  #negated(field: GroupField, depth: number, after?: string): SearchCondition {
    const { maxDepth } = queryLimits
    if (depth > maxDepth) {
      throw misunderstood(`More than ${maxDepth} nested brackets or NOT at character ${this.#at + 1}.`)
    }
    if (this.#take(not)) return { kind: 'not', part: this.#negated(field, depth + 1, 'NOT') }
    const at = this.#at + 1
    const [written, number] = (field && this.#take(negative)) ?? []
    if (field && written) {
      throw misunderstood(
        `The dash at character ${at} could exclude ${number} or belong to it. ` +
          `Write NOT ${number}, or repeat the field: ${field.name}:${written}.`,
      )
    }
    if (this.#take(dash)) return { kind: 'not', part: this.#negated(field, depth + 1) }
    return this.#operand(field, depth, after)
  }

  #operand(group: GroupField, depth: number, after?: string): SearchCondition {
    const at = this.#at + 1
    const word = this.#isAt(or) ? 'OR' : this.#isAt(and) ? 'AND' : undefined
    if (word) {
      throw misunderstood(
        `${word} at character ${at} has nothing before it. To search for the word, write "${word}".`,
      )
    }
    if (this.#isAt(end)) {
      if (after !== undefined) throw misunderstood(`Nothing follows ${after} at character ${at}.`)
      throw misunderstood(
        `${depth === 0 ? 'Unexpected closing bracket' : 'Empty brackets'} at character ${at}.`,
      )
    }
    if (this.#isAt(bracket)) return this.#group(group, depth)
    if (++this.#conditions > this.#maxConditions) {
      throw misunderstood(
        `The query has more than ${this.#maxConditions} conditions, from character ${at} on. Use fewer.`,
      )
    }
    if (group) return this.#value(group)
    const [, quoted, plain] = this.#take(fieldName) ?? []
    const name = quoted === undefined ? plain : unescaped(quoted)
    if (name === undefined) return this.#word()
    return this.#isAt(bracket) ? this.#group({ name, at }, depth) : this.#value({ name, at })
  }

  #group(field: GroupField, depth: number): SearchCondition {
    const at = this.#at + 1
    this.#take(bracket)
    const condition = this.#or(field, depth + 1)
    if (this.#at === this.#text.length) throw misunderstood(`Unclosed bracket at character ${at}.`)
    this.#at++
    this.#take(space)
    return condition
  }

  #value({ name, at }: NonNullable<GroupField>): SearchCondition {
    const valueAt = this.#at + 1
    const { value, isQuoted } = this.#valueText()
    const text = `${name}:${this.#text.slice(valueAt - 1, this.#at)}`
    this.#take(space)
    if (!isQuoted && value === '') {
      throw misunderstood(
        `Nothing follows "${name}:" at character ${valueAt}. Write the value without a space before it. ` +
          'To search for this text, put it in quotes.',
      )
    }
    const test: FieldTest = isQuoted ? { is: 'eq', value } : testOf(value, valueAt)
    return fieldCondition({ name, test, text, at, valueAt }, this.#columns)
  }

  #word(): SearchCondition {
    const at = this.#at + 1
    const { value, isQuoted } = this.#valueText()
    this.#take(space)
    if (isQuoted && value === '') throw misunderstood(`Empty quotes at character ${at}.`)
    if (!isQuoted && value === '*') return everything
    return wordCondition(isQuoted ? value : withoutStars(value, at))
  }

  /** A phrase, or what is up to a space, a quote, or a bracket that was not opened inside of it, as in `count(*)`. */
  #valueText(): { value: string; isQuoted: boolean } {
    const start = this.#at
    if (this.#text[start] === '"') {
      const [, inner] = this.#take(phrase) ?? []
      if (inner === undefined) throw misunderstood(`Unclosed quote at character ${start + 1}.`)
      return { value: unescaped(inner), isQuoted: true }
    }
    let depth = 0
    for (; this.#at < this.#text.length; this.#at++) {
      const character = this.#text[this.#at] as string
      if (character === '(') depth++
      if ((character === ')' && depth-- === 0) || /["\s]/.test(character)) break
    }
    return { value: this.#text.slice(start, this.#at), isQuoted: false }
  }

  #isAt(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at
    return pattern.test(this.#text)
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)
    if (found) this.#at = pattern.lastIndex
    return found
  }
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/gs, '$1')
}

function testOf(value: string, at: number): FieldTest {
  if (value === '*') return { is: 'exists' }
  const [, sign, compared] = comparison.exec(value) ?? []
  if (sign !== undefined && compared !== undefined) {
    const bound = { value: comparedNumber(compared, sign, at), inclusive: sign.endsWith('=') }
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

function comparedNumber(text: string, sign: string, at: number): number {
  const value = numberOf(text)
  if (value !== undefined) return value
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
