import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { engineVariables, readSettings } from '../../base/settings.ts'
import { type LogflareDatabase, LogflareTables, postgresGrant } from '../../logflare/logflare-tables.ts'
import { CommandFailure, usageFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { batchBounds, sendInputs, summary } from '../logs/send-inputs.ts'
import { offlineEngine } from '../offline-engine.ts'
import { printJson } from '../output/print.ts'
import type { ServiceClient } from '../service-client.ts'

export interface ImportOptions {
  postgresUrl?: string
  schema: string
  json?: true
}

export async function importLogflare(
  client: ServiceClient,
  options: ImportOptions,
  io: CommandIo,
): Promise<void> {
  const database = databaseOf(options, io)
  const reading = readSettings(engineVariables(io.environment))
  if ('problems' in reading) throw usageFailure(reading.problems.join('\n'))
  // A missing token fails before anything is read.
  client.find()
  const dataDir = mkdtempSync(join(tmpdir(), 'wellhead-import-'))
  const engine = offlineEngine(reading.settings, io, { dataDir, grants: [postgresGrant] })
  const sources: object[] = []
  try {
    await engine.start()
    const tables = new LogflareTables(engine, database)
    const found = await tables.sources().catch((error) => {
      throw new CommandFailure(`The tables of Logflare cannot be read: ${withoutPassword(error, database)}`)
    })
    if (found.length === 0)
      throw new CommandFailure(`The schema ${database.schema} has no tables of Logflare.`)
    for (const { source, table } of found) {
      await tables.copy(table)
      const input = { name: table, bytes: undefined, open: () => Readable.from(tables.pages()) }
      const tally = await sendInputs([input], { source, batchEntries: batchBounds.maxEntries }, client, io)
      await io.stderr.write(`${summary(tally)}\n`)
      const { accepted: stored, already_stored, rejected } = tally
      sources.push({ source, read: stored + rejected, stored, already_stored, rejected })
    }
  } finally {
    await engine.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
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
