import { isOfKind } from '../../shared/column-kind.ts'
import { keysOf, pathOf } from '../../shared/path-text.ts'
import { invalidParameter, type WellheadError } from '../base/errors.ts'
import { valueText } from '../base/json/json-paths.ts'
import type { TypedColumn } from '../catalog/source.ts'
import { foldCase, neededTokens, numberOf } from '../sql/word.ts'

/** A query whose fields are known, for the engine and for live entries. */
export type SearchCondition =
  | { kind: 'and' | 'or'; parts: readonly SearchCondition[] }
  | { kind: 'not'; part: SearchCondition }
  | FieldCondition
  | WordCondition

/** The message or a text in metadata contains it, or a number in metadata is written so. Letter case does not matter. */
export interface WordCondition {
  kind: 'word'
  value: string
  text: string
}

export interface FieldCondition {
  kind: 'test'
  field: SearchField
  test: FieldTest
  /** As it was written, without NOT. */
  text: string
}

export type FieldTest =
  | { is: 'eq' | 'prefix' | 'suffix' | 'contains'; value: string }
  | { is: 'number'; min?: Bound; max?: Bound }
  | { is: 'exists' }

interface Bound {
  value: number
  inclusive: boolean
}

/** A field and its value, with their positions in the query, from 1. */
export interface WrittenField extends Pick<FieldCondition, 'test' | 'text'> {
  name: string
  at: number
  valueAt: number
}

const id: SearchField = { kind: 'own', column: 'id' }
const uuid = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i
const hundreds = /^([1-5])xx$/i

export function misunderstood(message: string): WellheadError {
  return invalidParameter('query', message)
}

/** A UUID is often the id of an entry. */
export function wordCondition(value: string): SearchCondition {
  const text = `"${value}"`
  const word: WordCondition = { kind: 'word', value, text }
  if (!uuid.test(value)) return word
  const ids = [...new Set([value, value.toLowerCase()])].map((one): FieldCondition => {
    return { kind: 'test', field: id, test: { is: 'eq', value: one }, text }
  })
  return { kind: 'or', parts: [word, ...ids] }
}

export function fieldCondition(node: WrittenField, columns: readonly TypedColumn[]): SearchCondition {
  const field = searchField(node.name, columns)
  if (!field) {
    throw misunderstood(
      `"${node.name}" at character ${node.at} is not a field. Separate names by one dot, as in request.url.`,
    )
  }
  if (node.name === 'timestamp' && field.kind === 'path') {
    throw misunderstood(
      `"timestamp" at character ${node.at} is the time of the entry. Limit it with the time range instead. ` +
        'For a field of metadata, write metadata.timestamp.',
    )
  }
  const condition = (test: FieldTest): FieldCondition => ({ kind: 'test', field, test, text: node.text })
  const group = field.kind === 'own' ? undefined : statusGroup(node)
  if (group && isNumeric(field)) return condition(group)
  const test = condition(testOf(node, field))
  if (node.text.endsWith('"')) return test
  // A field of text may have the group, or the number as it is written, as its value.
  const other = group ?? spelledNumber(test)
  return other ? { kind: 'or', parts: [condition(other), test] } : test
}

/** The engine reads numbers of entries by value: 400.0 as 400. */
function spelledNumber({ field, test }: FieldCondition): FieldTest | undefined {
  if (field.kind === 'own' || test.is !== 'eq' || numberOf(test.value) === undefined) return undefined
  const value = valueText(test.value)
  return value === undefined || value === test.value ? undefined : { is: 'eq', value }
}

/** The range of a value such as 5xx. */
function statusGroup({ test }: WrittenField): FieldTest | undefined {
  const first = test.is === 'eq' ? Number(hundreds.exec(test.value)?.[1]) * 100 : Number.NaN
  return Number.isNaN(first) ? undefined : numbers(first, first + 99)
}

function testOf({ name, test, valueAt }: WrittenField, field: SearchField): FieldTest {
  // A whole message is rarely known; event_message:… compares it.
  if (name === 'message' && field.kind === 'own' && test.is === 'eq') return { ...test, is: 'contains' }
  if (!isNumeric(field) || !('value' in test)) return test
  const exact = test.is === 'eq' ? numberOf(test.value) : undefined
  if (exact !== undefined) return numbers(exact, exact)
  throw misunderstood(
    `The field "${name}" holds numbers, so its value at character ${valueAt} must be a number, ` +
      'a comparison such as >=500, or a range such as 400..499.',
  )
}

function numbers(min: number, max: number): FieldTest {
  return { is: 'number', min: { value: min, inclusive: true }, max: { value: max, inclusive: true } }
}

/** The conditions that are not negated, in the order of the query. */
export function* positiveTests(condition: SearchCondition): Generator<FieldCondition | WordCondition> {
  if (condition.kind === 'test' || condition.kind === 'word') yield condition
  else if (condition.kind !== 'not') for (const part of condition.parts) yield* positiveTests(part)
}

/** Number of conditions, also negated ones, that read the JSON text of each entry. The index of words has whole answers for some. */
export function parsingTests(condition: SearchCondition, isIndexed: boolean): number {
  if (condition.kind === 'word') {
    return isIndexed && neededTokens(foldCase(condition.value)).isCertain ? 0 : 1
  }
  if (condition.kind === 'test') return condition.field.kind === 'path' ? 1 : 0
  const parts = condition.kind === 'not' ? [condition.part] : condition.parts
  return parts.reduce((sum, part) => sum + parsingTests(part, isIndexed), 0)
}

const ownColumns = ['project', 'id', 'event_message'] as const

/** Where the values of a field are stored. */
export type SearchField =
  | { kind: 'own'; column: (typeof ownColumns)[number] }
  | { kind: 'typed'; column: string; type: TypedColumn['type']; keys: readonly string[] }
  | { kind: 'path'; keys: readonly string[] }

/** Undefined if the name is not a valid path. After `metadata.` it is a path, never a short name. */
export function searchField(name: string, columns: readonly TypedColumn[]): SearchField | undefined {
  const own = ownColumns.find((column) => column === (name === 'message' ? 'event_message' : name))
  if (own) return { kind: 'own', column: own }
  const keys = keysOf(name.replace(/^metadata\./, ''))
  const path = pathOf(keys)
  const typed = name.startsWith('metadata.')
    ? columns.find((column) => column.path === path)
    : shortName(path, columns)
  if (typed) return { kind: 'typed', column: typed.name, type: typed.type, keys: keysOf(typed.path) }
  return keys.some((key) => key === '' || key.includes('\0')) ? undefined : { kind: 'path', keys }
}

/** Throws if the name, which is the value of a parameter, is not a valid path. */
export function requiredField(name: string, columns: readonly TypedColumn[], parameter: string): SearchField {
  const field = searchField(name, columns)
  if (field) return field
  throw invalidParameter(parameter, `"${name}" is not a path. Separate names by one dot, as in request.url.`)
}

/** The typed column that a name means: the column or its path, its last key, or the only name that it starts. */
function shortName(name: string, columns: readonly TypedColumn[]): TypedColumn | undefined {
  const exact =
    columns.find((column) => column.name === name) ?? columns.find((column) => column.path === name)
  if (exact || name.includes('.')) return exact
  const lastKey = ({ path }: TypedColumn) => path.slice(path.lastIndexOf('.') + 1)
  const same = columns.filter((column) => lastKey(column) === name)
  const longer = columns.filter((column) =>
    [column.name, lastKey(column)].some((long) => long.startsWith(`${name}_`)),
  )
  return [same, longer].find((found) => found.length === 1)?.[0]
}

/** Whether a typed column stores the field as a number. */
export function isNumeric(field: SearchField): field is Extract<SearchField, { kind: 'typed' }> {
  return field.kind === 'typed' && field.type === 'number'
}

/** Whether the field holds HTTP status codes, which are counted in groups such as 5xx. */
export function isStatus(field: SearchField): boolean {
  return isNumeric(field) && isOfKind({ name: field.column, path: pathOf(field.keys) }, 'status')
}
