import { z } from 'zod'
import { inUse, invalidParameter, WellheadError } from '../../core/base/errors.ts'
import { type FieldShapes, readShape } from '../../core/base/validation.ts'
import {
  type DefinitionChange,
  type DefinitionView,
  kindForm,
  type Opened,
} from '../../core/definitions/kind.ts'
import { yamlFile } from '../../core/definitions/yaml-file.ts'
import type { TableColumn } from '../../shared/column-types.ts'
import { caseProblem, columnShape, showsAll, type TableFields, tableShape, tenantSource } from './table.ts'
import { readCsvFile } from './table-rows.ts'
import type { SavedTable, Tables } from './tables.ts'

export type TableView = DefinitionView<TableFields, ReturnType<typeof view>>

const viewShape: FieldShapes<ReturnType<typeof view>> = {
  stored_columns: z.array(columnShape).describe('Columns that SQL can read. Empty: there are no rows yet.'),
  rows: z.int().describe('Number of rows.'),
  bytes: z.int().describe('Size of the rows as they were sent.'),
  digest: z
    .string()
    .nullable()
    .describe('SHA-256 of columns and rows, the same in every format. Null: unknown.'),
  rows_updated_at: z.iso.datetime().nullable().describe('When the rows were replaced.'),
  rows_updated_by: z.string().nullable().describe('Id of the person or token that replaced the rows.'),
}

const file = yamlFile('table', tableShape, {
  example: 'description: Customers and their plans.',
  inLines: ['columns'],
  // Deleting a table deletes its rows.
  prunes: false,
})

const form = kindForm<TableFields>({
  name: 'table',
  folder: 'tables',
  isReadBySql: true,
  most: 1_000,
  fields: tableShape,
  file: {
    ...file,
    rowsExtension: /\.csv$/,
    /** Columns that are not declared are told from the rows. */
    withRows(reading, file, text) {
      const declared = reading.fields.columns as TableColumn[]
      const content = Buffer.from(text)
      try {
        const { columns, rows, digest } = readCsvFile(content, declared)
        return {
          ...reading,
          fields: { ...reading.fields, columns },
          rows: { file, content, count: rows, digest, told: declared.length === 0 ? ['columns'] : [] },
        }
      } catch (error) {
        if (!(error instanceof WellheadError)) throw error
        return { problems: [{ file, line: 1, column: 1, message: error.message }] }
      }
    },
  },
  docs: {
    about: 'Rows that you upload, for endpoints to join with entries.',
    fieldsName: 'NewTable',
    view: viewShape,
    example: {
      name: 'customers',
      columns: [
        { name: 'id', type: 'text' },
        { name: 'plan', type: 'text' },
      ],
    },
    changeExample: { description: 'Customers and their plans.' },
    referenceExample: 'customers',
    changes: 'edit',
    texts: {
      change:
        'Other columns convert the rows: what does not fit a type becomes null. The name cannot be changed.',
      delete: 'Deletes its rows as well.',
    },
    refusesBreaking: true,
  },
})

export const tables = {
  ...form,
  open: ({ tables }: { tables: Tables }): Opened<SavedTable> => ({
    items: tables,
    async prepare(fields, { current }) {
      const definition = readShape(tableShape, fields)
      const { name } = definition
      const names = definition.columns.map((column) => column.name)
      for (const [at, each] of names.entries()) {
        const problem = current?.definition.columns.some((column) => column.name === each)
          ? undefined
          : caseProblem(names.slice(0, at), each)
        if (problem) throw invalidParameter(`columns.${at}.name`, problem)
      }
      if (current && current.name !== name)
        throw invalidParameter('name', 'The name of a table cannot be changed.')
      return { stored: { definition } }
    },
    changesReaders: (before, after) =>
      changesOf(tables.columnsOf(before), tables.columnsOf(after)).length > 0,
    changes: async (before, after) =>
      after
        ? changesOf(tables.columnsOf(before), tables.columnsOf(after))
        : [{ kind: 'table_deleted', breaking: true, message: 'table deleted with its rows' }],
    async refuseUsed(before, after, next) {
      const users = after ? [] : await next.usersOf('tables', before, 'all')
      if (users.length > 0) throw inUse(before.name, users)
    },
    removed: (table, by) => tables.dropRows(table, by),
    views: (items) => items.map((table) => view(table, tables)),
  }),
}

/** What queries and those who send rows notice. */
function changesOf(before: readonly TableColumn[], after: readonly TableColumn[]): DefinitionChange[] {
  const changes: DefinitionChange[] = []
  for (const { name, type } of after) {
    const old = before.find((column) => column.name === name)
    if (old?.type === type) continue
    const message = old
      ? `column ${name} changed from ${old.type} to ${type}`
      : `column ${name} added: ${type}`
    changes.push({ kind: old ? 'column_changed' : 'column_added', breaking: false, message, column: name })
  }
  for (const { name } of before) {
    if (after.some((column) => column.name === name)) continue
    changes.push({
      kind: 'column_removed',
      breaking: name === tenantSource,
      message: `column ${name} removed with its values${name === tenantSource ? `: ${showsAll}` : ''}`,
      column: name,
    })
  }
  return changes
}

function view(table: SavedTable, tables: Tables) {
  const rows = tables.rowsOf(table)
  return {
    stored_columns: [...tables.columnsOf(table)],
    rows: rows?.body.rows ?? 0,
    bytes: rows?.body.bytes ?? 0,
    digest: rows?.body.digest || null,
    rows_updated_at: rows?.changed_at ?? null,
    rows_updated_by: rows?.changed_by ?? null,
  }
}
