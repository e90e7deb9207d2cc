import { isOfKind } from '../../../src/shared/column-kind.ts'
import { keysOf, pathOf, shownPath } from '../../../src/shared/path-text.ts'
import type { Facet, Facets, TypedColumn } from '../api/shapes.ts'
import { counted, percent } from '../ui/text/format.ts'
import { levelName } from './levels.ts'

type Column = Pick<TypedColumn, 'name' | 'path' | 'type'>
type Named = Pick<Column, 'name' | 'path'>

/** A field that a search can name. */
interface SearchableField {
  name: string
  note: string
}

const lastKey = (path: string) => keysOf(path).at(-1) ?? path
const isStatus = (column: Named) => isOfKind(column, 'status')
const isLevel = (column: Named) => isOfKind(column, 'level')
/** Whether a search means this column by `status`, if no other one is named alike. */
const isMeantByStatus = ({ name, path }: Named) =>
  [name, lastKey(path)].some((each) => each === 'status' || each.startsWith('status_'))

/** Typed columns first, then the fields that every entry has, then detected ones. */
export function fieldsOf(columns: readonly Column[], detected: readonly Facet[]): SearchableField[] {
  const all = [
    ...(columns.filter(isMeantByStatus).length === 1 ? [{ name: 'status', note: 'short name' }] : []),
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

const shareOf = ({ entries, sampled }: Facet) => percent(entries / Math.max(1, sampled))

const valuesOf = ({ distinct }: Facet) =>
  distinct === null ? 'more than 50 values' : counted(distinct, 'value')

/** The fields that the histogram can be split by: text columns, the status, and detected fields with few values. */
export function splitFields(columns: readonly Column[], detected: readonly Facet[]): string[] {
  const typed = columns.filter((column) => column.type === 'text' || isStatus(column))
  const others = detected.filter(({ distinct }) => distinct !== null)
  return [...typed.map(({ name }) => name), ...others.map(({ field }) => fieldOfPath(field, columns))]
}

/** The status or the level: that of a typed column, or else one that the list shows. */
export function defaultSplit(columns: readonly Column[], listed: readonly string[] = []): string | undefined {
  const typed = columns.find(isStatus) ?? columns.find(isLevel)
  const named = listed.map((path) => ({ name: lastKey(path), path }))
  const shown = named.find(isLevel) ?? named.find(isStatus)
  return typed?.name ?? (shown && fieldOfPath(shown.path, columns))
}

/** A value as people read it: some libraries write levels as numbers. */
export function valueName(field: string, value: string): string {
  const level = isLevel({ name: field, path: field }) ? levelName(value) : value
  return level.toLowerCase() === value.toLowerCase() ? value : `${value} ${level}`
}

/** Values of a field, to be included or excluded. */
export interface ShownFacet extends Omit<Facet, 'field' | 'column'> {
  /** As a search names it. */
  field: string
  path: string
  isTyped: boolean
  /** The share of entries that have it, where not all do. */
  share: string | undefined
  /** Number of entries that were counted, where not all were. */
  sample: number | undefined
}

/** In the order of the service. */
export function facetsOf({ entries, facets }: Facets, columns: readonly Column[]): ShownFacet[] {
  return facets.map(({ column, field: path, ...one }) => ({
    ...one,
    path,
    field: column ?? fieldOfPath(path, columns),
    isTyped: column !== null,
    share: one.entries < one.sampled ? shareOf({ column, field: path, ...one }) : undefined,
    sample: one.sampled < entries ? one.sampled : undefined,
  }))
}

const ownFields = ['project', 'id', 'message', 'event_message', 'timestamp']

/** The field for a path of metadata. The prefix keeps it from meaning another field of that name. */
export function fieldOfPath(path: string, columns: readonly Column[]): string {
  const keys = keysOf(path)
  const isShort = columns.some(
    (one) =>
      one.path !== pathOf(keys) &&
      [one.name, lastKey(one.path)].some((name) => name === path || name.startsWith(`${path}_`)),
  )
  const shown = shownPath(path)
  const isOther = ownFields.includes(path) || shown.startsWith('"') || keys[0] === 'metadata'
  return isShort || isOther ? `metadata.${shown}` : shown
}
