import { keysOf } from './path-text.ts'

/** Columns that every table of entries has. */
export const reservedColumns = new Set(['project', 'id', 'timestamp', 'event_message', 'metadata'])

/** Maximum number of typed columns of a source. */
export const maxTypedColumns = 32

const key = /^[\p{L}\p{N}_@$][\p{L}\p{N}_.:@$/-]{0,199}$/u

/** Whether a typed column can have the path. */
export const isColumnPath = (path: string): boolean => keysOf(path).every((each) => key.test(each))

/** Keys in the form of a column's name; empty if they have no letters for one. */
export function snakeCase(keys: readonly string[]): string {
  const words = keys
    .join('_')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
  return words
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^[^a-z]+/, '')
    .slice(0, 64)
}

/** A name for the column of a path. */
export function columnNameOf(path: string): string {
  const name = snakeCase(keysOf(path)) || 'field'
  return reservedColumns.has(name) ? `metadata_${name}` : name
}
