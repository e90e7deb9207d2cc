import { invalidParameter } from '../../base/errors.ts'
import type { TypedColumn } from '../../catalog/source.ts'

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
  const path = name.replace(/^metadata\./, '')
  const typed = path === name ? shortName(name, columns) : columns.find((column) => column.path === path)
  if (typed) return { kind: 'typed', column: typed.name, type: typed.type, keys: typed.path.split('.') }
  // A dot inside of a key is written %2E.
  const keys = path.split('.').map((key) => key.replace(/%2E/gi, '.'))
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

/** Whether the field holds HTTP status codes, which are counted in groups such as 5xx. */
export function isStatus(field: SearchField): boolean {
  return field.kind === 'typed' && field.type === 'number' && /(?:^|_)status(?:_code)?$/.test(field.column)
}
