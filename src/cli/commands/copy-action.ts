import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { WellheadError } from '../../base/errors.ts'
import { createLog } from '../../base/log.ts'
import { readSettings, type Settings } from '../../base/settings.ts'
import { serverEngine, topologyOf } from '../../cluster/cluster-engine.ts'
import type { CopiedRows } from '../../copy/copy-installation.ts'
import { copyInstallation } from '../../copy/copy-installation.ts'
import { storeDirectoryOf } from '../../engine/embedded-engine.ts'
import { CommandFailure, usageFailure } from '../command-failure.ts'
import type { CommandIo } from '../command-io.ts'
import { offlineEngine } from '../offline-engine.ts'
import { plural } from '../output/format-amount.ts'
import { printJson, printList } from '../output/print.ts'
import { Progress } from '../output/progress.ts'
import { explainStartProblem } from '../serve/start-problems.ts'

export interface CopyOptions {
  from: string
  to?: string
  json?: true
}

/** A chunk is in memory up to three times: as the engine's result, as a response and as a request. */
const chunkBytes = 16 * 2 ** 20

export async function copyToServer(options: CopyOptions, io: CommandIo): Promise<void> {
  const settings = settingsOf(options, io)
  const { dataDir } = settings
  const progress = new Progress('Copying', io)
  const log = createLog('silent')
  const from = offlineEngine(settings, io, { dataDir, atRest: true })
  const to = serverEngine(settings, settings.clickhouseUrl, { log })
  try {
    await to.start().catch(explain(settings))
    await from.start().catch(explain(settings))
    const tables = await copyInstallation({
      from,
      to,
      topology: topologyOf(to),
      signal: io.signal,
      now: io.clock.now,
      chunkBytes,
      onBytes: (bytes, note) => {
        progress.note = note
        progress.add(bytes)
      },
    }).catch((error) => {
      throw explained(error, io)
    })
    progress.end()
    await reportCopy(tables, options, io)
  } finally {
    progress.end()
    await Promise.all([from.close(), to.close()])
  }
}

type CopySettings = Settings & { clickhouseUrl: string }

function settingsOf({ from, to }: CopyOptions, io: CommandIo): CopySettings {
  if (/^\w+:\/\//.test(from)) {
    throw usageFailure('--from must be a data directory. A server can only be the target of a copy.')
  }
  const reading = readSettings(io.environment, {
    dataDir: resolve(io.cwd, from),
    clickhouseUrl: to,
  })
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

function explain(settings: Settings) {
  return (error: unknown): never => {
    const text = explainStartProblem(error, settings)
    throw text === undefined ? error : new CommandFailure(text, undefined, { cause: error })
  }
}

function explained(error: unknown, io: CommandIo): unknown {
  if (!(error instanceof WellheadError) || io.signal.aborted) return error
  const again = 'Drop the database on the server, then copy again.'
  return new CommandFailure(`The copy stopped: ${error.message} ${again}`, undefined, { cause: error })
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
