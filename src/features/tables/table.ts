import { z } from 'zod'
import { must, text } from '../../core/base/validation.ts'
import { sourceName } from '../../core/catalog/source.ts'
import { columnName, columnTypes } from '../../shared/column-types.ts'

export const maxRows = 1_000_000
export const maxTableBytes = 64 * 2 ** 20
export const maxColumns = 200
/** Of one value, in characters; about the size of the largest entry. */
export const maxValueLength = 2 ** 20
/** Of the values of one row as JSON, so that a reader knows how much memory it needs. */
export const maxRowLength = 8 * maxValueLength

/** The column with the tenant of a row, and what follows from its removal. */
export const tenantSource = 'project'
export const showsAll = 'tenants would see all rows through saved endpoints'

/** Why a column may not have a name beside these. Stored tables keep their columns, so their shape does not refuse it. */
export function caseProblem(names: readonly string[], name: string): string | undefined {
  const lower = name.toLowerCase()
  const other = [tenantSource, ...names].find((each) => each !== name && each.toLowerCase() === lower)
  if (other === undefined) return undefined
  return `The column names ${other} and ${name} differ only in case. ${other === tenantSource ? `Write ${tenantSource}.` : 'Rename one of them.'}`
}

/** Names that queries already have a meaning for. */
const reserved = new Set(['system', 'information_schema', 'default', 'numbers', 'zeros', 'values'])

export const columnShape = z.strictObject({
  name: z
    .string()
    .regex(columnName, 'must be letters, digits and _, starting with a letter, at most 64 characters')
    .describe('Unique in the table.'),
  type: z.enum(columnTypes, must(`one of ${columnTypes.join(', ')}`)).describe('Type of its values.'),
})

/** What authors write. */
export const tableShape = z.strictObject({
  name: sourceName
    .refine((name) => !reserved.has(name), 'is reserved')
    .describe('Unique among tables, sources and endpoints. SQL reads the table by it.'),
  description: text.max(10_000).default('').describe('What the table is for.'),
  columns: z
    .array(columnShape)
    .max(maxColumns, `must have at most ${maxColumns} columns`)
    .refine((columns) => new Set(columns.map(({ name }) => name)).size === columns.length, 'must be distinct')
    .refine((columns) => columns.every(({ name, type }) => name !== tenantSource || type === 'text'), {
      error: 'must have the type text for project',
    })
    .default([])
    .describe(
      'Columns and their types. Empty: told from the rows. With a column `project`, tenants see their rows only.',
    ),
})

export type TableFields = z.output<typeof tableShape>

/** Rows as they were stored last, beside the definition. */
export const rowsShape = z.object({
  columns: z.array(columnShape),
  rows: z.int(),
  bytes: z.int(),
  /** SHA-256 of the columns and rows. Empty: they are not those that were sent. */
  digest: z.string(),
})

export type StoredRows = z.output<typeof rowsShape>
