import type { DetectedField, Facets, TypedColumn } from '../api/shapes.ts'
import { counted, percent } from '../ui/format.ts'

type Column = Pick<TypedColumn, 'name' | 'path' | 'type'>
type Named = Pick<Column, 'name' | 'path'>

/** A field that a search can name. */
interface SearchableField {
  name: string
  note: string
}

const lastKey = (path: string) => path.slice(path.lastIndexOf('.') + 1)
const isStatus = ({ name, path }: Named) =>
  [name, lastKey(path)].some((each) => each === 'status' || each.startsWith('status_'))
const isLevel = ({ name, path }: Named) =>
  [name, lastKey(path)].some((each) => /(?:^|_)(?:level|severity|severity_text)$/.test(each))

/** Typed columns first, then the fields that every entry has, then detected ones. */
export function fieldsOf(columns: readonly Column[], detected: readonly DetectedField[]): SearchableField[] {
  const all = [
    ...(columns.filter(isStatus).length === 1 ? [{ name: 'status', note: 'short name' }] : []),
    ...columns.map(({ name, path }) => ({ name, note: path })),
    { name: 'message', note: 'text of the entry' },
    { name: 'project', note: 'project of the entry' },
    { name: 'id', note: 'id of the entry' },
    ...detected.map((one) => ({
      name: fieldOfPath(one.field, columns),
      note: `${shareOf(one)}, ${valuesOf(one)}`,
    })),
  ]
  const names = new Set<string>()
  return all.filter(({ name }) => !names.has(name) && names.add(name))
}

const shareOf = ({ entries, sampled }: DetectedField) => percent(entries / Math.max(1, sampled))

const valuesOf = ({ distinct }: DetectedField) =>
  distinct === null ? 'more than 50 values' : counted(distinct, 'value')

/** The fields that the histogram can be split by: text columns, the status, and detected fields with few values. */
export function splitFields(columns: readonly Column[], detected: readonly DetectedField[]): string[] {
  const typed = columns.filter((column) => column.type === 'text' || isStatus(column))
  const others = detected.filter(({ distinct }) => distinct !== null)
  return [...typed.map(({ name }) => name), ...others.map(({ field }) => fieldOfPath(field, columns))]
}

export function defaultSplit(columns: readonly Column[]): string | undefined {
  return (columns.find(isStatus) ?? columns.find(isLevel))?.name
}

/** Values of a field, to be included or excluded. */
export interface ShownFacet {
  /** As a search names it. */
  field: string
  path: string
  /** Of a field without a typed column: what the counts refer to. */
  detected?: { sampled: number; share: string }
  values: { value: string; count: number }[]
}

/** In the order of the service. */
export function facetsOf({ facets }: Pick<Facets, 'facets'>, columns: readonly Column[]): ShownFacet[] {
  return facets.map((one) => ({
    field: one.column ?? fieldOfPath(one.field, columns),
    path: one.field,
    ...(one.column === null && { detected: { sampled: one.sampled, share: shareOf(one) } }),
    values: one.values,
  }))
}

const ownFields = ['project', 'id', 'message', 'event_message', 'timestamp']

/** The field for a path of metadata. The prefix keeps it from meaning another field of that name. */
export function fieldOfPath(path: string, columns: readonly Column[]): string {
  const isShort = columns.some(
    (one) =>
      one.path !== path &&
      [one.name, lastKey(one.path)].some((name) => name === path || name.startsWith(`${path}_`)),
  )
  return isShort || ownFields.includes(path) || path.startsWith('metadata.') ? `metadata.${path}` : path
}
