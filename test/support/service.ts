import { type Service, startService } from '../../src/app.ts'
import { systemTime, type Timers } from '../../src/base/clock.ts'
import { readSettings } from '../../src/base/settings.ts'
import { emulated, log, sharedServer } from './engines.ts'
import { scratchDirectory } from './scratch.ts'

export interface RunningService extends Service {
  dataDir: string
  /** Sends a request with the admin token, unless the headers contain another. */
  call(path: string, init?: RequestInit): Promise<Response>
  close(): Promise<void>
}

export interface ServiceChoices {
  time?: Timers
  environment?: Record<string, string>
  dataDir?: string
}

/** A request that a test left unfinished would otherwise delay the end of the service by half a minute. */
const finishWithinMs = 2_000

/** A complete service in this process, with a real engine in a separate process. */
export async function openService(choices: ServiceChoices = {}): Promise<RunningService> {
  const directory = choices.dataDir === undefined ? scratchDirectory() : undefined
  const server = sharedServer()
  const reading = readSettings({
    WELLHEAD_PORT: '0',
    WELLHEAD_DATA_DIR: choices.dataDir ?? directory?.path,
    WELLHEAD_ENGINE_PATIENCE: emulated ? '10' : '1',
    WELLHEAD_ENGINE_NODE: process.env.WELLHEAD_ENGINE_NODE ?? '',
    // Inserts of statistics slow down an emulated engine; tests of statistics turn them on.
    WELLHEAD_STATISTICS: 'off',
    WELLHEAD_CLICKHOUSE_URL: server?.url ?? '',
    WELLHEAD_CLICKHOUSE_DATABASE: server?.database ?? '',
    WELLHEAD_CLICKHOUSE_CLUSTER: server?.cluster ?? '',
    ...choices.environment,
  })
  if ('problems' in reading) throw new Error(reading.problems.join('\n'))
  const { settings } = reading
  const service = await startService({
    settings,
    time: choices.time ?? systemTime(),
    log,
    node: process.execPath,
    environment: { ...process.env, ...choices.environment },
  }).catch((error) => {
    directory?.remove()
    throw error
  })
  return {
    ...service,
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
      directory?.remove()
    },
  }
}
