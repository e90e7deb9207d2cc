import { join } from 'node:path'
import { pino } from 'pino'
import { systemClock } from '../../src/base/clock.ts'
import type { Log } from '../../src/base/log.ts'
import { ClusterEngine } from '../../src/cluster/cluster-engine.ts'
import { RemoteEngine } from '../../src/cluster/remote-engine.ts'
import { EmbeddedEngine } from '../../src/engine/embedded-engine.ts'
import type { Engine } from '../../src/engine/engine.ts'
import { EngineProcess } from '../../src/engine/engine-process.ts'
import { defaultGrants } from '../../src/engine/host/engine-config.ts'
import { type EnginePort, openEnginePort } from './engine-port.ts'
import { openRelay, type Relay } from './network/relay.ts'
import { scratchDirectory } from './scratch.ts'

export const emulated = process.env.WELLHEAD_ENGINE_NODE !== undefined

/** `npm test` runs short forms on every machine; `npm run torture -- journeys` runs the long ones. */
export const longForms = process.env.WELLHEAD_TEST_LONG === '1'
export const many = (long: number, short: number) => (longForms ? long : short)

/** For work of the long forms that would take an emulated engine days. */
export const natively = (native: number, underEmulation: number) => (emulated ? underEmulation : native)

export const log = pino({ level: process.env.WELLHEAD_TEST_LOG ?? 'silent' })
export const engineNode = process.env.WELLHEAD_ENGINE_NODE ?? process.execPath
const defaultPatience = emulated ? 10 : 1

export interface OpenEngine<E extends Engine = Engine> {
  engine: E
  close(): Promise<void>
}

export interface EmbeddedChoices {
  atRest?: boolean
  patience?: number
  crashesBeforeRefusal?: number
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

/** A server that all engines and services of a test file use, instead of an embedded engine each. */
export interface SharedServer {
  /** With user and password. */
  url: string
  cluster?: string | undefined
  database: string
}

let shared: SharedServer | undefined

export function sharedServer(): SharedServer | undefined {
  return shared
}

export function shareServer(server: SharedServer | undefined): void {
  shared = server
}

/** An engine at the place where this test file runs. */
export async function openEngine(): Promise<OpenEngine> {
  if (!shared) return openEmbedded()
  const { cluster, ...server } = shared
  const options = { ...server, log, maxResultBytes: 32 * 2 ** 20 }
  const engine =
    cluster === undefined
      ? new RemoteEngine(options)
      : new ClusterEngine({ ...options, cluster, quorum: undefined })
  await engine.start()
  return { engine, close: () => engine.close() }
}

export const remoteCredentials = { user: 'reader', password: 'pa:ss/w@rd ü' }

interface ServerChoices {
  /** Name of a cluster in which the server is the only node. */
  cluster?: string
  /** By default those of an embedded engine. */
  grants?: readonly string[]
}

/** The engine never listens on it. With this port in a cluster, it takes a replica for itself. */
const ownPort = 9000

/** Clusters by name, each with a number of shards; the engine is the only replica of each shard. */
function clusterOptions(clusters: Record<string, number>) {
  const shard = `<shard><replica><host>127.0.0.1</host><port>${ownPort}</port></replica></shard>`
  const servers = Object.entries(clusters).map(
    ([name, shards]) => `<${name}>${shard.repeat(shards)}</${name}>`,
  )
  return {
    extraConfig: `<tcp_port>${ownPort}</tcp_port><remote_servers>${servers.join('')}</remote_servers>`,
    grants: [...defaultGrants, 'TABLE ENGINE ON Distributed', 'READ, WRITE ON REMOTE'],
  }
}

/** An engine process on a loopback port, as a substitute for a ClickHouse server. */
export async function openServer({
  cluster,
  grants,
}: ServerChoices = {}): Promise<EnginePort & { pid(): number | undefined }> {
  const directory = scratchDirectory()
  const socketPath = join(directory.path, 'engine.sock')
  const server = new EngineProcess({
    node: engineNode,
    environment: process.env,
    host: {
      directory: join(directory.path, 'engine'),
      socketPath,
      database: 'wellhead',
      memoryBytes: 2 * 2 ** 30,
      sessions: 8,
      maxWaiting: 1000,
      graceMs: 1000 * defaultPatience,
      // The second one has the same server as two shards, to see which of them a query asks.
      ...(cluster !== undefined && clusterOptions({ [cluster]: 1, [`${cluster}_twice`]: 2 })),
      ...(grants && { grants }),
    },
    log,
    patience: defaultPatience,
    onCrash: () => {},
  })
  await server.start()
  const port = await openEnginePort(socketPath, remoteCredentials)
  return {
    url: port.url,
    pid: () => server.pid,
    close: async () => {
      await port.close()
      await server.stop()
      directory.remove()
    },
  }
}

export async function openRemote(): Promise<OpenEngine<RemoteEngine> & { network: Relay }> {
  const server = await openServer()
  const network = await openRelay(Number(new URL(server.url).port))
  const engine = new RemoteEngine({
    url: network.url,
    ...remoteCredentials,
    database: 'elsewhere',
    log,
    maxResultBytes: 32 * 2 ** 20,
  })
  await engine.start()
  return {
    engine,
    network,
    close: async () => {
      await engine.close()
      await network.cut()
      await server.close()
    },
  }
}
