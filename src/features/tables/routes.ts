import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { engineUnavailable, tooLarge } from '../../core/base/errors.ts'
import type { Definitions } from '../../core/definitions/definitions.ts'
import { goneSignal } from '../../core/http/connections.ts'
import { referenceParams } from '../../core/http/routes/kind-routes.ts'
import { authorOf, flag } from '../../core/http/routes/management.ts'
import { json, routesOf } from '../../core/http/routes/route.ts'
import { ByteBudget } from '../../core/intake/intake-limits.ts'
import { readRequestBody } from '../../core/intake/request-body.ts'
import { csvLine } from '../../shared/csv.ts'
import { columnShape, maxRows, maxTableBytes } from './table.ts'
import { tables as tableKind } from './table-kind.ts'
import { rowFormOf } from './table-rows.ts'
import type { SavedTable, Tables, TableUsers } from './tables.ts'

const pageRows = 50_000
const refuseLarge = () =>
  tooLarge(`The rows are larger than ${maxTableBytes / 2 ** 20} MiB. Send fewer rows or columns.`)
const rowLimits = {
  maxSentBytes: maxTableBytes,
  maxUnpackedBytes: maxTableBytes,
  tooLarge: refuseLarge,
  unpackedTooLarge: refuseLarge,
}

/** Of all requests together. */
const maxHeldBytes = 2 * maxTableBytes

const replaced = z.object({
  rows: z.int().describe('Number of rows.'),
  columns: z.array(columnShape).describe('Columns with their types.'),
  bytes: z.int().describe('Size of the rows as they were sent.'),
  digest: z.string().describe('SHA-256 of columns and rows, the same in every format.'),
})
const page = z.object({
  rows: z.int().describe('Number of all rows.'),
  result: z
    .array(z.record(z.string(), z.unknown()))
    .describe('The first rows, in the order in which they were sent.'),
})

/** Names in the OpenAPI document. */
const components = {
  output: { TableRows: page, ReplacedRows: replaced },
}

interface TableParts {
  definitions: Definitions
  tables: Tables
  tableUsers: TableUsers
}

/** Rows of tables. */
export function addTableRoutes(
  server: FastifyInstance,
  { definitions, tables, tableUsers }: TableParts,
): void {
  server.components.add(components)
  const params = referenceParams(tableKind)
  const path = '/api/tables/:reference/rows' as const
  const budget = new ByteBudget(maxHeldBytes)
  server.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
    const route = routesOf(scope, { tag: 'Tables', access: 'edit' })
    route(`PUT ${path}`, 'replaceTableRows', 'Replace the rows of a table', {
      description:
        'Queries read the old rows until the new ones are complete. CSV has a header; an empty field is null, and `""` is empty text. ' +
        `Rows of an erased project that the table no longer has are refused unless \`restore_erased\` is true. At most ${maxRows} rows and ${maxTableBytes / 2 ** 20} MiB. The body can be compressed with \`gzip\` or \`deflate\`.`,
      params,
      query: z.object({
        breaking: flag('Whether to replace columns although endpoints that read them would fail.'),
        restore_erased: flag('Whether to store rows of projects that were erased.'),
        dry_run: flag('Checks whether rows of erased projects would come back, and stores nothing.'),
      }),
      body: {
        required: true,
        content: {
          'text/csv': { schema: { type: 'string' }, example: 'id,plan\nacme,pro\n' },
          'application/x-ndjson': { schema: { type: 'string', description: 'One object per line.' } },
          'application/json': { schema: z.array(z.record(z.string(), z.unknown())) },
        },
      },
      responses: { 200: json('What is stored. Null for a dry run.', replaced.nullable()) },
      errors: [409, 507],
      handler: async (request, reply) => {
        const table = definitions.find<SavedTable>('tables', request.params.reference, request.caller)
        const by = authorOf(request)
        const share = budget.share(by.id)
        const signal = goneSignal(reply)
        try {
          const stream = request.body as Readable | undefined
          const { 'content-encoding': encoding, 'content-type': type = '' } = request.headers
          const bytes = await readRequestBody(stream, encoding, share, undefined, rowLimits)
          const body = { bytes, form: rowFormOf(type) }
          const { breaking, restore_erased: restoreErased, dry_run } = request.query
          if (dry_run) {
            await tables.checkErased(table, body, signal)
            return null
          }
          const terms = { usersOf: tableUsers, breaking, restoreErased, by, signal }
          const { stored, users } = await tables.replace(table, body, terms)
          const change = { by, note: `${table.name} has other columns`, breaking: true, expected: undefined }
          // Those that still work get the columns that they have now.
          for (const name of users)
            await definitions.change('endpoints', name, {}, 'stay', change).catch(() => {})
          return stored
        } finally {
          share.release()
        }
      },
    })
  })
  const route = routesOf(server, { tag: 'Tables', access: 'read' })
  route(`GET ${path}`, 'getTableRows', 'Show the rows of a table', {
    description: 'As JSON, the first of them; as CSV or NDJSON, all.',
    params,
    query: z.object({
      _format: z.enum(['json', 'csv', 'ndjson']).default('json').describe('Format of the response.'),
      limit: z.coerce.number().int().min(1).max(10_000).default(100).describe('Most rows of JSON.'),
    }),
    responses: {
      200: {
        description: 'Rows.',
        content: {
          'application/json': { schema: page },
          'text/csv': { schema: { type: 'string' } },
          'application/x-ndjson': { schema: { type: 'string' } },
        },
      },
    },
    handler: async (request, reply) => {
      const { _format: format, limit } = request.query
      const table = definitions.find<SavedTable>('tables', request.params.reference, request.caller)
      const rows = tables.rowsOf(table)?.body.rows ?? 0
      if (format === 'json') {
        const lines = (await tables.page(table, 'JSONEachRow', 0, limit)).toString().trim().split('\n')
        reply.type('application/json; charset=utf-8')
        return `{"rows":${rows},"result":[${lines.join(',')}]}`
      }
      reply.type(format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson; charset=utf-8')
      return Readable.from(allRows(format), { objectMode: false })

      /** The rows may be replaced meanwhile. */
      async function* allRows(form: 'csv' | 'ndjson') {
        const version = tables.rowsOf(table)?.version
        if (form === 'csv') yield `${csvLine(tables.columnsOf(table).map(({ name }) => name))}\n`
        for (let offset = 0; offset < rows; offset += pageRows) {
          const read = await tables.page(table, form === 'csv' ? 'CSV' : 'JSONEachRow', offset, pageRows)
          if (tables.rowsOf(table)?.version !== version)
            throw engineUnavailable('The rows were replaced. Try again.')
          yield read
        }
      }
    },
  })
}
