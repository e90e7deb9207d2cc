import { readFile, writeFile } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { addExamples, addServiceAction, wholeNumber } from '../../cli/kit/command.ts'
import { type CommandIo, usageFailure } from '../../cli/kit/command-io.ts'
import { definitionCommands } from '../../cli/kit/definition-commands.ts'
import { plural } from '../../cli/kit/output/format.ts'
import { printFields } from '../../cli/kit/output/print.ts'
import { apiPath, type ServiceClient, ServiceFailure } from '../../cli/kit/service-client.ts'
import type { TableView } from './table-kind.ts'

const columns = ['name', 'rows', 'bytes', 'rows_updated_at', 'description'] as const

/** By the ending of a file. */
const types: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.ndjson': 'application/x-ndjson',
  '.json': 'application/json',
}

interface PutOptions {
  breaking?: true
  restoreErased?: true
}

export function defineTable(table: Command, io: CommandIo): void {
  addExamples(table, 'wellhead table put customers customers.csv', 'wellhead table rows customers')
  const tables = definitionCommands<TableView>(table, io, {
    noun: 'table',
    folder: 'tables',
    reference: 'table name or id',
  })

  tables.list({ columns, examples: ['wellhead table list'] })
  tables.show({
    example: 'wellhead table show customers',
    print: ({ columns: _, stored_columns, ...shown }) => {
      const types = stored_columns.map(({ name, type }) => `${name}=${type}`)
      return printFields(io.stdout, Object.entries({ ...shown, columns: types }))
    },
  })

  const rows = tables
    .command('rows', 'print the rows of a table')
    .addOption(
      new Option('--format <format>', 'output format').choices(['csv', 'ndjson', 'json']).default('csv'),
    )
    .option('--limit <count>', 'maximum number of rows of JSON', wholeNumber(1, 10_000))
    .option('--output <file>', 'write the rows to a file')
  addServiceAction(rows, io, {
    examples: ['wellhead table rows customers', 'wellhead table rows customers --output customers.csv'],
    request: async (client, name: string, { format, limit, output }: RowsOptions) => {
      if (limit !== undefined && format !== 'json') throw usageFailure('--limit is for --format json.')
      const query = { _format: format, ...(limit !== undefined && { limit: String(limit) }) }
      const body = await client.read(await client.request('GET', apiPath('tables', name, 'rows'), { query }))
      await (output === undefined ? io.stdout.write(body) : writeFile(resolve(io.cwd, output), body))
    },
  })

  const put = tables
    .command('put', 'replace the rows of a table, and create it if it does not exist')
    .argument('<file>', 'rows as CSV, NDJSON or JSON, by the ending of the file')
    .option('--breaking', 'replace columns although endpoints that read them would fail')
    .option('--restore-erased', 'store rows of projects that were erased')
  addServiceAction(put, io, {
    examples: [
      'wellhead table put customers customers.csv',
      'wellhead table put prices prices.ndjson --breaking',
    ],
    request: async (client, name: string, file: string, { breaking, restoreErased }: PutOptions) => {
      const type = types[extname(file).toLowerCase()]
      if (!type) throw usageFailure(`The name of the file must end with ${Object.keys(types).join(', ')}.`)
      const body = (await readFile(resolve(io.cwd, file))) as Buffer<ArrayBuffer>
      await createMissing(client, name)
      const query = {
        ...(breaking && { breaking: 'true' }),
        ...(restoreErased && { restore_erased: 'true' }),
      }
      const request = { body, query, headers: { 'Content-Type': type } }
      return client.json<TableView>('PUT', apiPath('tables', name, 'rows'), request)
    },
    print: async ({ rows, columns }, name) => {
      const all = columns.map((column) => `${column.name} ${column.type}`).join(', ')
      await io.stdout.write(`Stored ${plural(rows, 'row')} in ${name}: ${all}.\n`)
    },
  })

  tables.delete({ contents: 'rows', example: 'wellhead table delete customers --yes' })
}

interface RowsOptions {
  format: 'csv' | 'ndjson' | 'json'
  limit?: number
  output?: string
}

async function createMissing(client: ServiceClient, name: string): Promise<void> {
  try {
    await client.json('GET', apiPath('tables', name))
  } catch (error) {
    if (!(error instanceof ServiceFailure) || error.details.status !== 404) throw error
    await client.json('POST', '/api/tables', { json: { name } })
  }
}
