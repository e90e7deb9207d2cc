import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { addExamples, addServiceAction, addServiceOptions } from '../../cli/kit/command.ts'
import { CommandFailure, type CommandIo, usageFailure } from '../../cli/kit/command-io.ts'
import type { Declared } from '../../cli/kit/command-manifest.ts'
import { startEngine, withOfflineEngine } from '../../cli/kit/offline-engine.ts'
import { formatBytes, plural } from '../../cli/kit/output/format.ts'
import { printJson, printList } from '../../cli/kit/output/print.ts'
import { Progress } from '../../cli/kit/output/progress.ts'
import type { ServiceClient } from '../../cli/kit/service-client.ts'
import { WellheadError } from '../../core/base/errors.ts'
import { isDiskFull } from '../../core/base/files/disk.ts'
import type { KeyFile } from '../../core/base/files/key-file.ts'
import { createLog } from '../../core/base/log.ts'
import { OperatorError } from '../../core/base/operator-error.ts'
import { readSettings, type SettingRows, type Settings } from '../../core/base/settings.ts'
import { ownVersion } from '../../core/catalog/data-version.ts'
import { readDone } from '../../core/catalog/migrations.ts'
import type { OwnTable } from '../../core/catalog/own-tables.ts'
import { serverEngine, topologyOf } from '../../core/engine/cluster/cluster-engine.ts'
import { storeDirectoryOf } from '../../core/engine/embedded-engine.ts'
import { queryRows } from '../../core/engine/json-rows.ts'
import { type CopiedRows, copyInstallation } from './copy-installation.ts'
import type { Manifest } from './manifest.ts'
import { checkRestored, receiveBackup, restoreBackup } from './restore-backup.ts'
import { checkSpace } from './staged-directory.ts'

const backupHelp = (keys: string) => `
The directory must be new or empty, and appears when the backup is complete. Requests and logs are served meanwhile. Keep
the backup as secret as the service: it has ${keys} if the service created them.
`

const restoreHelp = `
Checks every file and every table, never overwrites anything, and leaves nothing behind if it fails. A backup has what was
erased after it was taken; with --erasures, the service erases it again before it is ready. If the backup itself lists
erasures, one of the two options is required.
`

const copyHelp = (keys: string, variables: string) => `
Stop the service first; the data directory is only read. The database on the server must be empty, and is compared at the
end. After an interruption, drop it, then copy again. ${keys.replace(/^./, (letter) => letter.toUpperCase())} are not copied: start the
service with the same data directory, or set ${variables}. User, password, database and
cluster of the server are the settings of serve.
`

/** Secrets of a data directory that no table has. */
function secretsOf({ keyFiles }: Declared) {
  return {
    titles: ['the admin token', ...keyFiles.map(({ title }) => title)].join(' and '),
    variables: ['WELLHEAD_ADMIN_TOKEN', ...keyFiles.map(({ variable }) => variable)].join(' and '),
  }
}

export function defineBackup(backup: Command, io: CommandIo, declared: Declared): void {
  addServiceOptions(backup)
    .argument('<directory>', 'new directory for the backup')
    .option('--json', 'print the manifest as JSON')
    .addHelpText('after', backupHelp(secretsOf(declared).titles))
  addServiceAction(backup, io, {
    examples: ['wellhead backup backups/$(date +%F)'],
    request: backUp,
  })
}

export function defineRestore(command: Command, io: CommandIo, declared: Declared): void {
  command
    .argument('<directory>', 'backup directory')
    .requiredOption('--data-dir <directory>', 'new data directory')
    .option('--erasures <file>', 'erasures.jsonl of the original data directory')
    .option('--no-erasures', 'restore without it, although entries were erased before')
    .option('--no-open', 'do not open the data with the engine to count its rows')
    .option('--json', 'print the manifest as JSON')
    .addHelpText('after', restoreHelp)
    .action((directory: string, options: RestoreOptions) => restore(directory, options, io, declared))
  addExamples(command, 'wellhead restore backups/2026-01-31 --data-dir ./restored')
}

export function defineCopy(copy: Command, io: CommandIo, declared: Declared): void {
  const { titles, variables } = secretsOf(declared)
  copy
    .requiredOption('--from <directory>', 'data directory of a stopped service')
    .option('--to <url>', 'ClickHouse server or nodes, as for serve (default: WELLHEAD_CLICKHOUSE_URL)')
    .option('--json', 'print JSON')
    .addHelpText('after', copyHelp(titles, variables))
    .action(async (options: CopyOptions) =>
      copyToServer(settingsOf(await declared.settings(), options, io), await declared.tables(), options, io),
    )
  addExamples(copy, 'wellhead copy --from ./data --to https://wellhead@clickhouse.example.com:8443')
}

interface RestoreOptions {
  dataDir: string
  erasures?: string | false
  open: boolean
  json?: true
}

async function backUp(client: ServiceClient, directory: string, { json }: { json?: true }): Promise<void> {
  const { io } = client
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
    throw explain(error, 'The backup', target, retry, io)
  } finally {
    progress.end()
    // Lets the service release its files after a failure.
    await response?.body?.cancel().catch(() => {})
  }
}

async function restore(
  directory: string,
  options: RestoreOptions,
  io: CommandIo,
  { settings, keyFiles }: Declared,
): Promise<void> {
  const target = resolve(io.cwd, options.dataDir)
  const progress = new Progress('Restoring', io)
  let usedKeyFiles = keyFiles
  const check = async (dataDir: string, expected: Manifest) => {
    progress.end()
    usedKeyFiles = await openAndCheck(dataDir, expected, io, await settings(), keyFiles)
  }
  try {
    const manifest = await restoreBackup({
      from: resolve(io.cwd, directory),
      erasures: options.erasures && resolve(io.cwd, options.erasures),
      to: target,
      here: ownVersion(),
      signal: io.signal,
      check: options.open ? check : undefined,
      onBytes: (bytes, totalBytes) => {
        progress.totalBytes = totalBytes
        progress.add(bytes)
      },
    })
    progress.end()
    for (const { name, variable, missing } of usedKeyFiles) {
      if (existsSync(join(target, name)) || io.environment[variable]) continue
      await io.stderr.write(
        `The backup has no ${name}. ${missing} before you copy the file ${name} of the original data directory to ` +
          `${target}, or set ${variable} as it was.\n`,
      )
    }
    if (options.erasures === undefined) {
      const advice = 'restore again with --erasures, or they are back'
      await io.stderr.write(`If entries were erased after ${manifest.taken_at}, ${advice}.\n`)
    }
    if (options.json) return await printManifest(target, manifest, io)
    await io.stdout.write(
      `Restored ${amountOf(manifest)} to ${target}, as of ${manifest.taken_at}.\n` +
        `Run: wellhead serve --data-dir ${target}\n`,
    )
  } catch (error) {
    const retry = 'Run the command again. If it fails again, restore another backup.'
    throw explain(error, 'The restore', target, retry, io)
  } finally {
    progress.end()
  }
}

/** Opens the restored data with the engine and compares the rows with the manifest. Resolves to the key files that the data needs. */
async function openAndCheck(
  dataDir: string,
  manifest: Manifest,
  io: CommandIo,
  table: SettingRows,
  keyFiles: readonly KeyFile[],
): Promise<KeyFile[]> {
  const reading = readSettings(table, io.environment, { dataDir })
  if ('problems' in reading) throw usageFailure(reading.problems.join('\n'))
  const advice = ' Use --no-open to restore the data without opening it.'
  return withOfflineEngine(reading.settings, io, { dataDir, advice }, async (engine) => {
    await readDone(engine)
    await checkRestored(engine, manifest)
    const used: KeyFile[] = []
    for (const file of keyFiles) {
      const rows = await queryRows(engine, { sql: file.usedSql }, { deadlineMs: 60_000 })
      if (rows.length > 0) used.push(file)
    }
    return used
  })
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
function explain(error: unknown, what: string, target: string, retry: string, io: CommandIo): unknown {
  const isExplained = error instanceof CommandFailure || error instanceof OperatorError
  if (isExplained || io.signal.aborted) return error
  const { message, cause } = error as Error
  const isFull = isDiskFull(error)
  // A connection that breaks has its reason in the cause.
  const reason = isFull ? `the disk of ${target} is full` : cause instanceof Error ? cause.message : message
  const next = isFull ? 'Free some space on it, or choose a directory on another disk.' : retry
  return new CommandFailure(`${what} failed: ${reason}. Nothing was kept. ${next}`, undefined, {
    cause: error,
  })
}

interface CopyOptions {
  from: string
  to?: string
  json?: true
}

const chunkRows = 10_000

async function copyToServer(
  settings: CopySettings,
  ownTables: readonly OwnTable[],
  options: CopyOptions,
  io: CommandIo,
): Promise<void> {
  const { dataDir } = settings
  const { signal, clock } = io
  const progress = new Progress('Copying', io)
  const onBytes = (bytes: number, note: string) => {
    progress.note = note
    progress.add(bytes)
  }
  const to = serverEngine(settings, settings.clickhouseUrl, { log: createLog('silent') })
  try {
    await startEngine(to, settings)
    const topology = topologyOf(to)
    const tables = await withOfflineEngine(settings, io, { dataDir }, (from) =>
      copyInstallation({ from, to, topology, ownTables, signal, now: clock.now, chunkRows, onBytes }),
    )
    progress.end()
    await reportCopy(tables, options, io)
  } catch (error) {
    if (!(error instanceof WellheadError) || signal.aborted) throw error
    const again = 'Drop the database on the server, then copy again.'
    throw new CommandFailure(`The copy stopped: ${error.message} ${again}`, undefined, { cause: error })
  } finally {
    progress.end()
    await to.close()
  }
}

type CopySettings = Settings & { clickhouseUrl: string }

function settingsOf(table: SettingRows, { from, to }: CopyOptions, io: CommandIo): CopySettings {
  const reading = readSettings(table, io.environment, { dataDir: resolve(io.cwd, from), clickhouseUrl: to })
  if ('problems' in reading) {
    throw usageFailure(reading.problems.join('\n').replace('--clickhouse-url', '--to'))
  }
  const { settings } = reading
  if (settings.clickhouseUrl === undefined) {
    throw usageFailure('Name the ClickHouse server with --to or WELLHEAD_CLICKHOUSE_URL.')
  }
  // An engine would create a missing directory.
  if (!existsSync(storeDirectoryOf(settings.dataDir))) {
    throw usageFailure(`${settings.dataDir} is not a data directory of Wellhead.`)
  }
  return settings as CopySettings
}

export async function reportCopy(
  tables: CopiedRows[],
  { json }: Pick<CopyOptions, 'json'>,
  io: CommandIo,
): Promise<void> {
  const different = tables.filter((table) => !table.equal).length
  if (json) await printJson(io, { equal: different === 0, tables })
  else await printList(io, ['name', 'rows', 'copied', 'equal'], tables, 'Nothing to copy.')
  if (different > 0) {
    throw new CommandFailure(
      `${plural(different, 'table differs', 'tables differ')}. Make sure that nothing else writes to the server, then drop the database and copy again.`,
    )
  }
  await io.stderr.write(
    'All rows are equal. The admin token is not copied: start the service with the same data directory, or set ' +
      'WELLHEAD_ADMIN_TOKEN.\n',
  )
}
