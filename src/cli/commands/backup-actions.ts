import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Manifest } from '../../backup/manifest.ts'
import {
  checkRestored,
  countWebhookAlerts,
  receiveBackup,
  restoreBackup,
} from '../../backup/restore-backup.ts'
import { checkSpace } from '../../backup/staged-directory.ts'
import { OperatorError } from '../../base/operator-error.ts'
import { readSettings } from '../../base/settings.ts'
import { schemaVersion } from '../../catalog/migrations.ts'
import { engineLibraryVersion } from '../../engine/embedded-engine.ts'
import { CommandFailure, usageFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { offlineEngine } from '../offline-engine.ts'
import { formatBytes, plural } from '../output/format-amount.ts'
import { printJson } from '../output/print.ts'
import { Progress } from '../output/progress.ts'
import { explainStartProblem } from '../serve/start-problems.ts'
import { type ServiceClient, ServiceFailure } from '../service-client.ts'

export interface RestoreOptions {
  dataDir: string
  open: boolean
  json?: true
}

export async function backUp(
  directory: string,
  json: true | undefined,
  client: ServiceClient,
  io: CommandIo,
) {
  const target = resolve(io.cwd, directory)
  const progress = new Progress('Backing up', io)
  let response: Response | undefined
  // Requested late: the service keeps its files until the response is read.
  async function* archive(): AsyncGenerator<Uint8Array> {
    response = await client.request('GET', '/api/backup')
    progress.totalBytes = Number(response.headers.get('wellhead-backup-bytes'))
    await checkSpace(dirname(target), { bytes: progress.totalBytes, files: 0 })
    yield* response.body as AsyncIterable<Uint8Array>
  }
  try {
    const manifest = await receiveBackup(archive(), target, (bytes) => progress.add(bytes))
    progress.end()
    if (json) return await printManifest(target, manifest, io)
    await io.stdout.write(`Backed up ${amountOf(manifest)} to ${target}.\n`)
  } catch (error) {
    const retry = 'Check the log of the service, then run the command again.'
    throw explain(error, 'The backup', retry, io)
  } finally {
    progress.end()
    // Lets the service release its files after a failure.
    await response?.body?.cancel().catch(() => {})
  }
}

export async function restore(directory: string, options: RestoreOptions, io: CommandIo): Promise<void> {
  const target = resolve(io.cwd, options.dataDir)
  const progress = new Progress('Restoring', io)
  let silent = 'If it has alerts with webhooks, nothing is sent to those.'
  const check = async (dataDir: string, expected: Manifest) => {
    progress.end()
    const count = await openAndCheck(dataDir, expected, io)
    silent = count > 0 ? `It has ${plural(count, 'alert')} with webhooks, and nothing is sent to those.` : ''
  }
  try {
    const manifest = await restoreBackup({
      from: resolve(io.cwd, directory),
      to: target,
      here: { schema: schemaVersion, library: engineLibraryVersion() },
      signal: io.signal,
      check: options.open ? check : undefined,
      onStart: ({ bytes }) => {
        progress.totalBytes = bytes
      },
      onBytes: (bytes) => progress.add(bytes),
    })
    progress.end()
    if (silent !== '' && !existsSync(join(target, 'alert-key')) && !io.environment.WELLHEAD_ALERT_KEY) {
      await io.stderr.write(
        `WARNING: The backup has no alert-key. ${silent} Copy the file alert-key from the data directory that was backed up ` +
          `to ${target}, or set WELLHEAD_ALERT_KEY as it was. Otherwise remove the webhooks, then add them again.\n`,
      )
    }
    if (options.json) return await printManifest(target, manifest, io)
    await io.stdout.write(
      `Restored ${amountOf(manifest)} to ${target}, as of ${manifest.taken_at}.\n` +
        `Run: wellhead serve --data-dir ${target}\n`,
    )
  } catch (error) {
    const retry = 'Run the command again. If it fails again, restore another backup.'
    throw explain(error, 'The restore', retry, io)
  } finally {
    progress.end()
  }
}

/** Opens the restored data with the engine and compares the rows with the manifest. Returns how many alerts have webhooks. */
async function openAndCheck(dataDir: string, manifest: Manifest, io: CommandIo): Promise<number> {
  const reading = readSettings(io.environment, { dataDir })
  if ('problems' in reading) throw usageFailure(reading.problems.join('\n'))
  const { settings } = reading
  const engine = offlineEngine(settings, io, { dataDir, atRest: true })
  try {
    await engine.start().catch((error) => {
      throw new CommandFailure(
        `${explainStartProblem(error, settings) ?? (error as Error).message} ` +
          'Use --no-open to restore the data without opening it.',
      )
    })
    await checkRestored(engine, manifest)
    return await countWebhookAlerts(engine)
  } finally {
    await engine.close()
  }
}

function printManifest(directory: string, manifest: Manifest, io: CommandIo): Promise<void> {
  const tables = manifest.tables.map(({ name, rows }) => ({ name, rows }))
  return printJson(io, { directory, ...manifest, tables })
}

function amountOf({ tables, files, bytes }: Manifest): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  return `${plural(rows, 'row')} in ${plural(tables.length, 'table')} (${plural(files, 'file')}, ${formatBytes(bytes)})`
}

/** Adds to a failure that nothing was kept, and what to do next. */
function explain(error: unknown, what: string, retry: string, io: CommandIo): unknown {
  const options = { cause: error }
  if (error instanceof ServiceFailure && isInterrupted(error)) {
    return new CommandFailure(`${error.message} Nothing was kept. ${retry}`, undefined, options)
  }
  const isExplained = error instanceof CommandFailure || error instanceof OperatorError
  if (isExplained || io.signal.aborted) return error
  const { message } = error as Error
  return new CommandFailure(`${what} failed: ${message}. Nothing was kept. ${retry}`, undefined, options)
}

/** The engine or the connection failed. Without any service, the message already says how to start one. */
function isInterrupted({ details: { status, code } }: ServiceFailure): boolean {
  return status === 503 || (status === 0 && code !== 'ECONNREFUSED')
}
