import { Readable } from 'node:stream'
import type { Command } from 'commander'
import { addServiceAction, addServiceCommand } from '../../cli/kit/command.ts'
import { CommandFailure, type CommandIo, usageFailure } from '../../cli/kit/command-io.ts'
import { batchBounds, projectWarning, sendInputs, summary } from '../../cli/kit/logs/send-inputs.ts'
import { withOfflineEngine } from '../../cli/kit/offline-engine.ts'
import { printJson } from '../../cli/kit/output/print.ts'
import type { ServiceClient } from '../../cli/kit/service-client.ts'
import { coreSettings, engineVariables, readSettings } from '../../core/base/settings.ts'
import { type LogflareDatabase, logflareTables, postgresGrant } from './logflare-tables.ts'

const help = `
Sends the entries to a service, oldest first. Postgres is only read; a temporary engine copies each table, which needs free
disk space. After an interruption, run the same command again: within a day and with the same token, nothing is stored
twice.
`

export function defineImport(parent: Command, io: CommandIo): void {
  const logflare = addServiceCommand(parent, 'logflare', 'import the logs that Logflare stored in Postgres')
    .option('--postgres-url <url>', 'database of Logflare (default: POSTGRES_BACKEND_URL)')
    .option('--schema <name>', 'schema of its tables', '_analytics')
    .option('--json', 'print the counts as JSON')
    .addHelpText('after', help)
  addServiceAction(logflare, io, {
    examples: [
      'wellhead import logflare --postgres-url postgres://supabase_admin:secret@localhost:5432/_supabase',
    ],
    request: importLogflare,
  })
}

interface ImportOptions {
  postgresUrl?: string
  schema: string
  json?: true
}

async function importLogflare(client: ServiceClient, options: ImportOptions): Promise<void> {
  const { io } = client
  const database = databaseOf(options, io)
  const reading = readSettings(coreSettings, engineVariables(io.environment))
  if ('problems' in reading) throw usageFailure(reading.problems.join('\n'))
  // A missing token fails before anything is read.
  client.find()
  const sources: object[] = []
  await withOfflineEngine(reading.settings, io, { grants: [postgresGrant] }, async (engine) => {
    const tables = logflareTables(engine, database)
    const found = await tables.sources().catch((error) => {
      throw new CommandFailure(`The tables of Logflare cannot be read: ${withoutPassword(error, database)}`)
    })
    if (found.length === 0)
      throw new CommandFailure(`The schema ${database.schema} has no tables of Logflare.`)
    for (const { source, table } of found) {
      await tables.copy(table)
      const input = { name: table, bytes: undefined, open: () => Readable.from(tables.pages()) }
      const tally = await sendInputs([input], { source, batchEntries: batchBounds.maxEntries }, client)
      await io.stderr.write(`${summary(tally)}\n${projectWarning(tally)}`)
      const { accepted: stored, already_stored, rejected } = tally
      sources.push({ source, read: stored + rejected, stored, already_stored, rejected })
    }
  })
  if (options.json) await printJson(io, { sources })
}

function databaseOf({ postgresUrl, schema }: ImportOptions, io: CommandIo): LogflareDatabase {
  const text = postgresUrl ?? io.environment.POSTGRES_BACKEND_URL
  const expected = 'such as postgres://user:password@localhost:5432/_supabase'
  if (!text) throw usageFailure(`Name the database with --postgres-url, ${expected}.`)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^postgres(?:ql)?:$/.test(url.protocol) || url.hostname === '' || url.pathname.length < 2) {
    throw usageFailure(`--postgres-url must be a URL ${expected}.`)
  }
  return {
    address: `${url.hostname}:${url.port || 5432}`,
    database: decodeURIComponent(url.pathname.slice(1)),
    user: decodeURIComponent(url.username) || 'postgres',
    password: decodeURIComponent(url.password),
    schema,
  }
}

/** The engine quotes the statement, which contains the password. */
function withoutPassword(error: unknown, { password }: LogflareDatabase): string {
  const text = error instanceof Error ? error.message : String(error)
  return password === '' ? text : text.replaceAll(password, '…')
}
