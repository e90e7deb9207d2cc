import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { readSettings } from '../../base/settings.ts'
import { type LogflareDatabase, LogflareTables, postgresGrant } from '../../logflare/logflare-tables.ts'
import { CommandFailure, usageFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { batchKeys } from '../logs/log-batches.ts'
import { sendBatch } from '../logs/send-batch.ts'
import { offlineEngine } from '../offline-engine.ts'
import { plural } from '../output/format-amount.ts'
import { printJson } from '../output/print.ts'
import type { ServiceClient } from '../service-client.ts'

export interface ImportOptions {
  postgresUrl?: string
  schema: string
  json?: true
}

interface Imported {
  source: string
  read: number
  stored: number
  /** How many of the stored entries an earlier command had stored. */
  already_stored: number
  rejected: number
}

const batchEntries = 1_000
/** About five minutes with the pauses between attempts. */
const maxAttempts = 14

export async function importLogflare(
  client: ServiceClient,
  options: ImportOptions,
  io: CommandIo,
): Promise<void> {
  const database = databaseOf(options, io)
  const reading = readSettings({})
  if ('problems' in reading) throw usageFailure(reading.problems.join('\n'))
  // A missing token fails before anything is read.
  client.find()
  const dataDir = mkdtempSync(join(tmpdir(), 'wellhead-import-'))
  const engine = offlineEngine(reading.settings, io, { dataDir, grants: [postgresGrant] })
  const sources: Imported[] = []
  try {
    await engine.start()
    const tables = new LogflareTables(engine, database)
    const found = await tables.sources().catch((error) => {
      throw new CommandFailure(`The tables of Logflare cannot be read: ${withoutPassword(error, database)}`)
    })
    if (found.length === 0)
      throw new CommandFailure(`The schema ${database.schema} has no tables of Logflare.`)
    for (const { source, table } of found) {
      const read = await tables.copy(table)
      const imported = await importSource(tables, source, client, io)
      sources.push({ source, read, ...imported })
      const { stored, rejected } = imported
      await io.stderr.write(
        `${source}: ${plural(read, 'entry', 'entries')} read, ${stored} stored, ${rejected} rejected.\n`,
      )
    }
  } finally {
    await engine.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
  if (options.json) await printJson(io, { sources })
}

async function importSource(tables: LogflareTables, source: string, client: ServiceClient, io: CommandIo) {
  const counts = { stored: 0, already_stored: 0, rejected: 0 }
  const keyOf = await batchKeys(source, 'logflare')
  let wasReached = false
  for await (const { body, entries } of tables.batches(batchEntries)) {
    const batch = {
      body: Buffer.from(body),
      contentType: 'application/x-ndjson' as const,
      lines: Array.from({ length: entries }, (_, index) => index),
    }
    const sent = await sendBatch(batch, keyOf(batch), {
      client,
      source,
      maxAttempts,
      wasReached,
      pause: (ms) => delay(ms, undefined, { signal: io.signal }),
      onWait: (failure, ms) =>
        void io.stderr.write(`${failure.message} Trying again in ${Math.ceil(ms / 1000)} s.\n`),
    })
    wasReached = true
    counts.stored += sent.accepted
    counts.rejected += sent.rejected
    if (sent.replayed) counts.already_stored += sent.accepted
  }
  return counts
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
