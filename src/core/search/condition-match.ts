import { pathName } from '../base/json/json-paths.ts'
import { foldCase, jsonScalar, numberOf, numberPattern } from '../sql/word.ts'
import {
  type FieldCondition,
  isNumeric,
  type SearchCondition,
  type WordCondition,
} from './search-condition.ts'
import type { EntryMatch, StoredEntry } from './stored-entry.ts'

const jsonScalars = new RegExp(jsonScalar, 'g')

/** Decides like the SQL of the condition, for entries that no query reads. */
export function entryMatch(condition: SearchCondition): EntryMatch {
  const found: (FieldCondition | WordCondition)[] = []
  const decide = decisionOf(condition, found)
  const paths = found.flatMap((one) =>
    one.kind === 'word' || one.field.kind === 'own' ? [] : [one.field.keys],
  )
  const tests = found.map((one) => (one.kind === 'word' ? wordTest(one.value) : testOf(one)))
  return { paths, tests, decide }
}

/** Between texts of an entry. No text has half of a surrogate pair. */
const between = '\ud800'

function wordTest(value: string): (entry: StoredEntry) => boolean {
  const wanted = foldCase(value)
  const number = numberPattern.test(value) ? `${between}${value}${between}` : undefined
  return (entry) =>
    entry.result(`word ${value}`, () => {
      if (contains(entry.lower('event_message', entry.column('event_message')), wanted)) return true
      if (contains(entry.once('texts', () => textsOf(entry)) as string, wanted)) return true
      return (
        number !== undefined && (entry.once('numbers', () => numbersOf(entry)) as string).includes(number)
      )
    })
}

function textsOf(entry: StoredEntry): string {
  const texts = scalarsOf(entry.json()).filter((scalar) => scalar.startsWith('"'))
  return texts.map((text) => foldCase(textOf(text))).join(between)
}

function numbersOf(entry: StoredEntry): string {
  const numbers = scalarsOf(entry.json()).filter((scalar) => !scalar.startsWith('"'))
  return `${between}${numbers.join(between)}${between}`
}

/** Texts and numbers as JSON, without keys. */
function scalarsOf(json: string): string[] {
  return (json.match(jsonScalars) ?? []).filter((scalar) => !scalar.endsWith(':'))
}

function textOf(json: string): string {
  const text = Buffer.from(json, 'latin1').toString()
  return text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1)
}

function decisionOf(
  condition: SearchCondition,
  found: (FieldCondition | WordCondition)[],
): EntryMatch['decide'] {
  if (condition.kind === 'test' || condition.kind === 'word') {
    const index = found.push(condition) - 1
    return (isMet) => isMet(index)
  }
  if (condition.kind === 'not') {
    const part = decisionOf(condition.part, found)
    return (isMet) => !part(isMet)
  }
  const parts = condition.parts.map((part) => decisionOf(part, found))
  return condition.kind === 'and'
    ? (isMet) => parts.every((part) => part(isMet))
    : (isMet) => parts.some((part) => part(isMet))
}

function testOf({ field, test }: FieldCondition): (entry: StoredEntry) => boolean {
  const name = field.kind === 'own' ? field.column : pathName(field.keys)
  const holds = comparisonOf({ field, test }, name)
  const key = JSON.stringify([name, field.kind === 'typed' && field.type, test])
  return (entry) =>
    entry.result(key, () => {
      const text = field.kind === 'own' ? entry.column(field.column) : entry.at(name)
      return text !== undefined && holds(text, entry)
    })
}

function comparisonOf(
  { field, test }: Pick<FieldCondition, 'field' | 'test'>,
  name: string,
): (text: string, entry: StoredEntry) => boolean {
  switch (test.is) {
    case 'exists':
      return isNumeric(field) ? (text) => numberOf(text) !== undefined : (text) => text !== ''
    case 'eq':
      return (text) => text === test.value
    case 'prefix':
      return (text) => text.startsWith(test.value)
    case 'suffix':
      return (text) => text.endsWith(test.value)
    case 'contains': {
      const wanted = foldCase(test.value)
      return (text, entry) => contains(entry.lower(name, text), wanted)
    }
    case 'number': {
      const { min, max } = test
      return (text) => {
        const number = numberOf(text)
        if (number === undefined) return false
        if (min && (min.inclusive ? number < min.value : number <= min.value)) return false
        return !(max && (max.inclusive ? number > max.value : number >= max.value))
      }
    }
  }
}

/** For longer texts, the time of `includes` can be the product of both lengths. */
const surelyQuick = 250

/** `text.includes(wanted)` in linear time, by the algorithm of Knuth, Morris and Pratt. */
export function contains(text: string, wanted: string): boolean {
  if (wanted.length <= surelyQuick) return text.includes(wanted)
  const both = wanted + between + text
  // For each character, the length of the longest start of both that ends there.
  const matches = new Uint32Array(both.length)
  for (let at = 1, matched = 0; at < both.length; at++) {
    const code = both.charCodeAt(at)
    while (matched > 0 && both.charCodeAt(matched) !== code) matched = matches[matched - 1] as number
    if (both.charCodeAt(matched) === code) matched++
    if (matched === wanted.length) return true
    matches[at] = matched
  }
  return false
}
