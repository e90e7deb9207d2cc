import { type Service, startService } from '../../src/app.ts'
import { systemTime, type Timers } from '../../src/core/base/clock.ts'
import type { Log } from '../../src/core/base/log.ts'
import { packageFile } from '../../src/core/base/package-file.ts'
import { readSettings } from '../../src/core/base/settings.ts'
import { readDefinitions } from '../../src/core/endpoints/definition/definition-file.ts'
import { checkIsolation } from '../../src/core/engine/cluster/isolation-check.ts'
import type { Feature } from '../../src/feature.ts'
import { statistics } from '../../src/features/statistics/index.ts'
import type { OpenStatistics } from '../../src/features/statistics/open.ts'
import { loadSettings } from '../../src/settings-table.ts'
import { defaultPatience, log } from './engines.ts'
import { scratchDirectory } from './scratch.ts'
import {
  databaseForService,
  dropDatabase,
  environmentOf,
  leaveDatabase,
  rememberTables,
  type SharedServer,
  sharedServer,
} from './worker-server.ts'

export interface RunningService extends Service {
  /** Undefined if requests are not recorded. */
  statistics: OpenStatistics['records']
  dataDir: string
  /** Sends a request with the admin token, unless the headers contain another. */
  call(path: string, init?: RequestInit): Promise<Response>
  close(): Promise<void>
}

export interface ServiceChoices {
  time?: Timers
  environment?: Record<string, string>
  dataDir?: string
  log?: Log
  /** By default, all. */
  features?: readonly Feature[]
  /**
   * An engine of its own, for tests that kill, configure or measure it, that look at its files, or that start again with a
   * data directory. By default, the service has a database of its own on the worker's server.
   */
  engine?: 'embedded'
}

/** A request that a test left unfinished would otherwise delay the end of the service by half a minute. */
const finishWithinMs = 2_000

/** Read once for all services of a process. */
const shipped = readDefinitions(packageFile('shipped/endpoints'))

const checked = new Map<string, ReturnType<typeof checkIsolation>>()

/** What the check says of a server is true for all of its databases. Journeys of the check itself name their server. */
function checkOnce({ url }: SharedServer): typeof checkIsolation {
  return (node, cluster) => {
    const key = `${url} ${cluster}`
    const found = checked.get(key) ?? checkIsolation(node, cluster)
    checked.set(key, found)
    return found
  }
}

/** A complete service in this process, with a real engine in another. */
export async function openService(choices: ServiceChoices = {}): Promise<RunningService> {
  const directory = choices.dataDir === undefined ? scratchDirectory() : undefined
  const { engine, environment = {} } = choices
  const isElsewhere = environment.WELLHEAD_CLICKHOUSE_URL !== undefined
  const own = sharedServer() || isElsewhere || engine === 'embedded' ? undefined : await databaseForService()
  const server = own ?? sharedServer()
  const reading = readSettings(await loadSettings(), {
    WELLHEAD_PORT: '0',
    WELLHEAD_DATA_DIR: choices.dataDir ?? directory?.path,
    WELLHEAD_ENGINE_PATIENCE: String(defaultPatience),
    WELLHEAD_ENGINE_NODE: process.env.WELLHEAD_ENGINE_NODE ?? '',
    // Inserts of statistics slow down an emulated engine; tests of statistics turn them on.
    WELLHEAD_STATISTICS: 'off',
    ...(server && environmentOf(server)),
    ...environment,
  })
  if ('problems' in reading) throw new Error(reading.problems.join('\n'))
  const { settings } = reading
  const options = {
    settings,
    time: choices.time ?? systemTime(),
    log: choices.log ?? log,
    node: process.execPath,
    environment: { ...process.env, ...environment },
    shipped,
    ...(server && !isElsewhere && { checkIsolation: checkOnce(server) }),
  }
  const { features } = choices
  const service = await startService(options, features && { features }).catch(async (error) => {
    if (own) await dropDatabase(own)
    directory?.remove()
    throw error
  })
  const used = own && (await rememberTables(own))
  return {
    ...service,
    statistics: service.core.feature(statistics).records,
    dataDir: settings.dataDir,
    call: (path, init = {}) =>
      fetch(service.url + path, {
        ...init,
        headers: { 'X-API-KEY': service.adminToken.token, ...init.headers },
      }),
    close: async () => {
      const cut = setTimeout(() => service.http.server.closeAllConnections(), finishWithinMs)
      await service.stop()
      clearTimeout(cut)
      if (used) await leaveDatabase(used)
      directory?.remove()
    },
  }
}
