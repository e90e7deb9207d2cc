import type { ValueCount } from '../../api/shapes.ts'
import { piece, unquoted } from './conditions.ts'

/** What is being typed: a field, or a value of a field. */
export interface TypedPart {
  field: string | undefined
  /** What is typed of it so far, without quotes. */
  text: string
  /** The part of the query that a suggestion replaces. */
  from: number
  to: number
}

/** The field or the value at the caret. Undefined inside a phrase or an address, which have neither. */
export function typedPartAt(query: string, caret: number): TypedPart | undefined {
  let from = 0
  let field: string | undefined
  let group: string | undefined
  for (const { 0: text, index } of query.slice(0, caret).matchAll(piece)) {
    const end = index + text.length
    if (text === '(' && query[index - 1] === ':') group = field
    if (text === ')') group = undefined
    if (text === '(' || text === ')' || text.trim() === '') {
      field = group
      from = end
    } else if (text === ':' && field === undefined) {
      field = unquoted(query.slice(from, index).replace(/^-/, ''))
      from = end
    }
  }
  const sign = field === undefined ? /^-/ : /^[<>]=?/
  from += sign.exec(query.slice(from, caret))?.[0].length ?? 0
  const to = caret + (/^[^\s()]*/.exec(query.slice(caret))?.[0].length ?? 0)
  const text = query.slice(from, caret)
  if (text.startsWith('//') || (field === undefined && text.startsWith('"'))) return undefined
  return { field, text: unquoted(text), from, to }
}

/** The values of a field, after the groups of its status codes such as 5xx. */
export function withStatusGroups(field: string, values: readonly ValueCount[]): readonly ValueCount[] {
  const isStatus = /status|code/i.test(field) && values.every(({ value }) => /^[1-5]\d\d$/.test(value))
  if (!isStatus) return values
  const groups = new Map<string, number>()
  for (const { value, count } of values) {
    const group = `${value[0]}xx`
    groups.set(group, (groups.get(group) ?? 0) + count)
  }
  return [...[...groups].sort().map(([value, count]) => ({ value, count })), ...values]
}

/** Suggestions that begin with the text, then those that contain it. A complete one needs no suggestion. */
export function matching<T>(all: readonly T[], text: string, nameOf: (one: T) => string): T[] {
  const wanted = text.toLowerCase()
  const names = all.map((one) => [one, nameOf(one).toLowerCase()] as const)
  const begins = names.filter(([, name]) => name.startsWith(wanted))
  const contains = names.filter(([, name]) => !name.startsWith(wanted) && name.includes(wanted))
  const found = [...begins, ...contains]
  return found.length === 1 && found[0]?.[1] === wanted ? [] : found.map(([one]) => one)
}
