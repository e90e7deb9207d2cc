import { dirname, resolve } from 'node:path'
import { BackupProblem, type Manifest } from '../../backup/manifest.ts'
import { receiveBackup } from '../../backup/receive-backup.ts'
import { checkRestored, restoreBackup } from '../../backup/restore-backup.ts'
import { checkSpace } from '../../backup/staged-directory.ts'
import { createLog } from '../../base/log.ts'
import { readSettings } from '../../base/settings.ts'
import { schemaVersion } from '../../catalog/migrations.ts'
import { EmbeddedEngine, engineLibraryVersion } from '../../engine/embedded-engine.ts'
import { CommandFailure, usageFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import type { ServiceChoice } from '../find-service.ts'
import { formatBytes, plural } from '../output/format-amount.ts'
import { startProgress } from '../output/progress.ts'
import { connect, ServiceFailure } from '../service-client.ts'
import { explainStartProblem } from '../start-problems.ts'

export interface RestoreChoice {
  dataDir: string
  open: boolean
  json?: boolean
}

export async function backUp(directory: string, choice: ServiceChoice & { json?: boolean }, io: CommandIo) {
  const target = resolve(io.cwd, directory)
  const service = connect(choice, io)
  let progress: ReturnType<typeof startProgress> | undefined
  let done = 0
  const onBytes = (bytes: number) => {
    done += bytes
    progress?.update(done)
  }
  let response: Response | undefined
  // Asked for only when there is a place for it: until it is read, it holds the service's files.
  async function* archive(): AsyncGenerator<Uint8Array> {
    response = await service.request('GET', '/api/backup')
    const total = Number(response.headers.get('wellhead-backup-bytes'))
    await checkSpace(dirname(target), { bytes: total, files: 0 })
    progress = startProgress({
      title: 'Backing up',
      total,
      unit: 'bytes',
      output: io.stderr,
      clock: io.clock,
    })
    yield* response.body as AsyncIterable<Uint8Array>
  }
  try {
    const manifest = await receiveBackup(archive(), target, onBytes)
    progress?.end()
    if (choice.json) return await printJson(target, manifest, io)
    await io.stdout.write(`Backed up ${amountOf(manifest)} into ${target}.\n`)
  } catch (error) {
    throw explained(error, { what: 'The backup', directory: target, retry: backupAgain }, io)
  } finally {
    progress?.end()
    // What was refused must not go on holding the service's files.
    await response?.body?.cancel().catch(() => {})
  }
}

export async function restore(directory: string, choice: RestoreChoice, io: CommandIo): Promise<void> {
  const target = resolve(io.cwd, choice.dataDir)
  let progress: ReturnType<typeof startProgress> | undefined
  let done = 0
  try {
    const manifest = await restoreBackup({
      from: resolve(io.cwd, directory),
      to: target,
      here: { schema: schemaVersion, library: engineLibraryVersion() },
      signal: io.signal,
      check: choice.open
        ? (dataDir, expected) => {
            progress?.end()
            return openAndCheck(dataDir, expected, io)
          }
        : undefined,
      onStart: ({ bytes }) => {
        progress = startProgress({
          title: 'Restoring',
          total: bytes,
          unit: 'bytes',
          output: io.stderr,
          clock: io.clock,
        })
      },
      onBytes: (bytes) => {
        done += bytes
        progress?.update(done)
      },
    })
    progress?.end()
    if (choice.json) return await printJson(target, manifest, io)
    await io.stdout.write(
      `Restored ${amountOf(manifest)}, as of ${manifest.taken_at}, into ${target}.\n` +
        `Run: wellhead serve --data-dir ${target}\n`,
    )
  } catch (error) {
    throw explained(error, { what: 'The restore', directory: target, retry: restoreAgain }, io)
  } finally {
    progress?.end()
  }
}

/** The engine opens a directory only if it can read what is in it, and says which parts it found. */
async function openAndCheck(dataDir: string, manifest: Manifest, io: CommandIo): Promise<void> {
  const reading = readSettings(io.environment, { dataDir })
  if ('problems' in reading) throw usageFailure(reading.problems.join('\n'))
  const { settings } = reading
  const engine = new EmbeddedEngine({
    dataDir,
    memoryBytes: settings.engineMemory,
    patience: settings.enginePatience,
    node: settings.engineNode ?? io.node,
    environment: io.environment,
    clock: io.clock,
    log: createLog('silent'),
    atRest: true,
  })
  try {
    await engine.start().catch((error) => {
      throw new CommandFailure(
        `${explainStartProblem(error, settings) ?? (error as Error).message} ` +
          'Use --no-open to restore the data without opening it.',
      )
    })
    await checkRestored(engine, manifest)
  } finally {
    await engine.close()
  }
}

function printJson(directory: string, manifest: Manifest, io: CommandIo): Promise<void> {
  const tables = manifest.tables.map(({ name, rows }) => ({ name, rows }))
  return io.stdout.write(`${JSON.stringify({ directory, ...manifest, tables }, null, 2)}\n`)
}

function amountOf({ tables, files, bytes }: Manifest): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  return `${plural(rows, 'row')} of ${plural(tables.length, 'table')} (${plural(files, 'file')}, ${formatBytes(bytes)})`
}

const backupAgain = 'Look at the log of the service, and run the command again.'
const restoreAgain = 'Run the command again. If it fails again, restore another backup, or take a new one.'

interface Attempt {
  what: string
  directory: string
  /** The advice for what nobody foresaw. */
  retry: string
}

/** What went wrong, that nothing is left of it, and what to do next. */
function explained(error: unknown, attempt: Attempt, io: CommandIo): unknown {
  const options = { cause: error }
  if (error instanceof ServiceFailure && brokeOff(error)) {
    return new CommandFailure(`${error.message} Nothing was kept. ${attempt.retry}`, undefined, options)
  }
  if (error instanceof CommandFailure || io.signal.aborted) return error
  if (error instanceof BackupProblem) return new CommandFailure(error.message, undefined, options)
  const { code, message } = error as NodeJS.ErrnoException
  return new CommandFailure(
    `${attempt.what} failed: ${message}. Nothing was kept. ${nextStep(code, attempt)}`,
    undefined,
    options,
  )
}

/** The engine or the connection ended; where there is no service at all, the message says how to start one. */
function brokeOff({ status, code }: ServiceFailure): boolean {
  return status === 503 || (status === 0 && code !== 'ECONNREFUSED')
}

function nextStep(code: string | undefined, { directory, retry }: Attempt): string {
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return `Free space on the disk of ${directory}, or choose a directory on another disk.`
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return 'Choose directories that this user can read and write.'
    case 'EIO':
      return 'Check the disk, and choose a directory on another one.'
    default:
      return retry
  }
}
