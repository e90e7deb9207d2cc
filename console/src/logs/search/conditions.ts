import { countedLength } from '../../../../src/shared/counted-values.ts'
/** A phrase, an escaped character, spaces, or one character. */
export const piece = /"(?:[^"\\]|\\.)*"?|\\.|\s+|./g

/** The condition `path:value`, as the search language writes it. A value that may be cut is searched as a phrase. */
export function conditionOf(field: string, value: string, exclude = false): string {
  const isCut = [...value].length >= countedLength
  return `${exclude ? '-' : ''}${isCut ? quoted(value) : `${writtenField(field)}:${writtenValue(value)}`}`
}

export function writtenField(name: string): string {
  return /^[\p{L}_@$](?:[^\s":()]|(?<=\.)"(?:[^"\\]|\\.)*")*$/u.test(name) ? name : quoted(name)
}

/** In quotes where it could mean something else. */
export function writtenValue(value: string): string {
  const isPlain = /^[^\s"()\\:*<>=-][^\s"()\\:*]*$/.test(value) && !value.includes('..')
  return isPlain && !/^(?:AND|OR|NOT)$/.test(value) ? value : quoted(value)
}

function quoted(text: string): string {
  return `"${text.replace(/(["\\])/g, '\\$1')}"`
}

/** The value that a condition excludes; undefined if it is another condition. */
export function excludedValue(field: string, condition: string): string | undefined {
  const value = unquoted(condition.slice(`-${writtenField(field)}:`.length))
  return conditionOf(field, value, true) === condition ? value : undefined
}

/** The text inside quotes, which may not be closed yet. */
export function unquoted(text: string): string {
  return text.startsWith('"') ? text.replace(/^"|"$/g, '').replace(/\\(.)/g, '$1') : text
}

/**
 * The conditions that must all hold, as they are written. Undefined where the query is an alternative: none of its parts
 * can be removed alone.
 */
export function conditionsIn(query: string): string[] | undefined {
  const parts = ['']
  let depth = 0
  for (const [text] of query.matchAll(piece)) {
    if (text === '(') depth++
    if (text === ')') depth--
    const isEnd = depth <= 0 && text.trim() === '' && parts.at(-1) !== 'NOT'
    if (isEnd) parts.push('')
    else parts.push(`${parts.pop()}${text}`)
  }
  return parts.includes('OR') ? undefined : parts.filter((one) => one !== '' && one !== 'AND')
}

/** Adds a condition unless the query has it. */
export function withCondition(query: string, condition: string): string {
  const conditions = conditionsIn(query)
  if (conditions === undefined) return `(${query}) ${condition}`
  return conditions.includes(condition) ? query : [query.trim(), condition].join(' ').trim()
}

export function withoutCondition(query: string, condition: string): string {
  return (conditionsIn(query) ?? [query]).filter((one) => one !== condition).join(' ')
}
