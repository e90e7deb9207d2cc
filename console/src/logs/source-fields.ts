import type { Facet, SourcePath, TypedColumn } from '../api/shapes.ts'

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

/** Typed columns first, then the fields that every entry has, then paths of metadata. */
export function fieldsOf(columns: readonly Column[], schema: readonly SourcePath[]): SearchableField[] {
  const all = [
    ...(columns.filter(isStatus).length === 1 ? [{ name: 'status', note: 'short name' }] : []),
    ...columns.map(({ name, path }) => ({ name, note: path })),
    { name: 'message', note: 'text of the entry' },
    { name: 'project', note: 'project of the entry' },
    { name: 'id', note: 'id of the entry' },
    ...schema.map(({ path, examples }) => ({ name: fieldOfPath(path, columns), note: examples[0] ?? '' })),
  ]
  const names = new Set<string>()
  return all.filter(({ name }) => !names.has(name) && names.add(name))
}

/** The fields that the histogram can be split by: text columns and the status. */
export function splitFields(columns: readonly Column[]): string[] {
  return columns.filter((column) => column.type === 'text' || isStatus(column)).map(({ name }) => name)
}

export function defaultSplit(columns: readonly Column[]): string | undefined {
  return (columns.find(isStatus) ?? columns.find(isLevel))?.name
}

const longValue = 40

/** Status and level first, then columns with few values. Long values, such as URLs, are last. */
export function facetsInOrder(facets: readonly Facet[]): Facet[] {
  const rank = ({ column: name, field: path, values }: Facet) => {
    if (isStatus({ name, path }) || isLevel({ name, path })) return 0
    return values.some(({ value }) => value.length > longValue) ? 2 : 1
  }
  return facets.toSorted((one, other) => rank(one) - rank(other) || one.values.length - other.values.length)
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
