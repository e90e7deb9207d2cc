import { join } from 'node:path'
import { pino } from 'pino'
import { systemClock } from '../../src/core/base/clock.ts'
import type { Log } from '../../src/core/base/log.ts'
import { EngineProcess } from '../../src/core/engine/embedded/engine-process.ts'
import type { HostOptions } from '../../src/core/engine/embedded/host-protocol.ts'
import { EmbeddedEngine } from '../../src/core/engine/embedded-engine.ts'
import type { Engine } from '../../src/core/engine/engine.ts'
import { scratchDirectory } from './scratch.ts'

export const emulated = process.env.WELLHEAD_ENGINE_NODE !== undefined

/** `npm test` runs short forms on every machine; `npm run torture -- journeys` runs the long ones. */
export const longForms = process.env.WELLHEAD_TEST_LONG === '1'
export const many = (long: number, short: number) => (longForms ? long : short)

/** For work of the long forms that would take an emulated engine days. */
export const natively = (native: number, underEmulation: number) => (emulated ? underEmulation : native)

export const log = pino({ level: process.env.WELLHEAD_TEST_LOG ?? 'silent' })
export const engineNode = process.env.WELLHEAD_ENGINE_NODE ?? process.execPath
/** Tests keep every core busy, so an engine or a query that waits for long may be waiting for one. */
export const defaultPatience = emulated ? 10 : 4

export interface OpenEngine<E extends Engine = Engine> {
  engine: E
  close(): Promise<void>
}

export interface EmbeddedChoices {
  atRest?: boolean
  patience?: number
  grants?: readonly string[]
  log?: Log
}

export function embeddedEngine(dataDir: string, choices: EmbeddedChoices = {}): EmbeddedEngine {
  return new EmbeddedEngine({
    dataDir,
    memoryBytes: 2 * 2 ** 30,
    patience: defaultPatience,
    log,
    ...choices,
    node: engineNode,
    environment: process.env,
    clock: systemClock,
    maxResultBytes: 32 * 2 ** 20,
  })
}

export async function openEmbedded(
  choices?: EmbeddedChoices,
): Promise<OpenEngine<EmbeddedEngine> & { dataDir: string }> {
  const directory = scratchDirectory()
  const engine = embeddedEngine(directory.path, choices)
  await engine.start().catch(async (error) => {
    await engine.close()
    directory.remove()
    throw error
  })
  return {
    engine,
    dataDir: directory.path,
    close: async () => {
      await engine.close()
      directory.remove()
    },
  }
}

export const remoteCredentials = { user: 'reader', password: 'pa:ss/w@rd ü' }

export interface TestServer {
  /** With user and password. */
  url: string
  pid(): number | undefined
  /** Ends the process with SIGKILL, until the next start. */
  kill(): Promise<void>
  /** Starts it again, with the same address and data. */
  start(changes?: Pick<HostOptions, 'extraConfig'>): Promise<void>
  close(): Promise<void>
}

interface ServerChoices extends Pick<HostOptions, 'protocols' | 'extraConfig'> {
  /** Name of a cluster in which the server is the only node. */
  cluster?: string
  /** By default those that a service needs, in any database, and those of tests that look behind it. */
  grants?: readonly string[]
}

const anyDatabase = [
  'SELECT, INSERT, ALTER, CREATE, DROP, TRUNCATE, OPTIMIZE, SHOW, KILL QUERY, SYSTEM, CLUSTER, REMOTE ON *.*',
  'TABLE ENGINE ON *',
]

/** With this port in a cluster, the server takes a replica for itself. */
const ownPort = 9000

/** Clusters by name, each with a number of shards; the server is the only replica of each shard. */
function clusterConfig(clusters: Record<string, number>): string {
  const shard = `<shard><replica><host>127.0.0.1</host><port>${ownPort}</port></replica></shard>`
  const servers = Object.entries(clusters).map(
    ([name, shards]) => `<${name}>${shard.repeat(shards)}</${name}>`,
  )
  return `<tcp_port>${ownPort}</tcp_port><remote_servers>${servers.join('')}</remote_servers>`
}

/** A ClickHouse server on a loopback port, as an operator would run it. */
export async function openServer({
  cluster,
  grants = anyDatabase,
  ...more
}: ServerChoices = {}): Promise<TestServer> {
  // Removed after the run, because nobody closes the server of a worker.
  const directory = scratchDirectory(globalThis.process.env.WELLHEAD_TEST_SCRATCH)
  const host: HostOptions = {
    directory: join(directory.path, 'engine'),
    runtimeDirectory: join(directory.path, 'runtime'),
    database: 'wellhead',
    memoryBytes: 2 * 2 ** 30,
    credentials: { key: '', service: remoteCredentials, reader: { user: 'nobody', password: 'nothing' } },
    ...(cluster !== undefined && { extraConfig: clusterConfig({ [cluster]: 1, [`${cluster}_twice`]: 2 }) }),
    grants,
    ...more,
  }
  let process: EngineProcess | undefined
  const start: TestServer['start'] = (changes = {}) =>
    new Promise<void>((resolve, reject) => {
      Object.assign(host, changes)
      process = new EngineProcess({
        node: engineNode,
        environment: globalThis.process.env,
        host,
        log,
        patience: defaultPatience,
        connect: async (port) => {
          // The server has the same address after a restart.
          host.port = port
          // It also runs if another process has taken the port.
          await fetch(`http://127.0.0.1:${port}/ping`)
          return ''
        },
        ping: async () => {},
        isBusy: () => false,
        onChange: (state) => (state.ready ? resolve() : reject(new Error(state.reason))),
        onCrash: () => {},
      })
      process.start()
    })
  const kill = async () => process?.stop()
  const close = async () => {
    await kill()
    directory.remove()
  }
  await start().catch(async (error) => {
    await close()
    throw error
  })
  const login = [remoteCredentials.user, remoteCredentials.password].map(encodeURIComponent).join(':')
  return { url: `http://${login}@127.0.0.1:${host.port}`, pid: () => process?.pid, kill, start, close }
}
