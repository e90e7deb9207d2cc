import type { LookupTable } from '../api/shapes.ts'
import type { Kind } from '../definitions/definition.ts'

/** The fields of a table that can be edited. */
export type TableDraft = Pick<LookupTable, 'description' | 'columns'>

export const tableKind: Kind<LookupTable, TableDraft> = {
  path: 'tables',
  one: 'table',
  draftOf: ({ description, columns }) => ({ description, columns }),
}
