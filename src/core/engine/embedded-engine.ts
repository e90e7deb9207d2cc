import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import { diskFull, engineUnavailable, invalidQuery, WellheadError } from '../base/errors.ts'
import { isDiskFull } from '../base/files/disk.ts'
import type { Log } from '../base/log.ts'
import { codeTokens, identifierOf } from '../sql/tokens.ts'
import { ClickHouseClient } from './clickhouse-client.ts'
import { ClickHouseError } from './clickhouse-http.ts'
import { isLocked, refuseOwner } from './embedded/directory-lock.ts'
import { InsertVerifier } from './embedded/durability/insert-verifier.ts'
import { EngineProcess } from './embedded/engine-process.ts'
import type { EngineStartError, HostOptions, User } from './embedded/host-protocol.ts'
import { graceMs, RunningQueries } from './embedded/running-queries.ts'
import {
  durabilitySettings,
  embeddedGrants,
  keyHeader,
  runtimeDirectoryOf,
  storeOf,
} from './embedded/server-config.ts'
import type {
  InsertInto,
  InsertLimits,
  InsertMark,
  Limits,
  NodeState,
  QueryResult,
  Statement,
} from './engine.ts'
import { queryText } from './json-rows.ts'
import { type EngineNode, ServerEngine } from './server-engine.ts'

export function storeDirectoryOf(dataDir: string): string {
  return storeOf(join(dataDir, 'engine'))
}

/** Throws if another process uses the data directory. The engine process notices that, too, but later. */
export function checkUnused(dataDir: string): void {
  const status = join(storeDirectoryOf(dataDir), 'status')
  if (isLocked(status)) refuseOwner(status)
}

/** Version of the package `chdb`, read without loading the engine. */
export function engineLibraryVersion(): string {
  const entry = createRequire(import.meta.url).resolve('chdb')
  const text = readFileSync(join(dirname(entry), 'package.json'), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

/** A ClickHouse server in a process of its own, which the service starts and supervises. */
export class EmbeddedEngine extends ServerEngine<EmbeddedNode> {
  protected readonly nodes: readonly [EmbeddedNode]

  constructor(options: EmbeddedEngineOptions) {
    super(database, 'The engine is starting.')
    const owner = {
      onChange: (node: EmbeddedNode) => this.onChange(node),
      onFailure: (error: Error) => this.refuseWaiting(error),
    }
    this.nodes = [new EmbeddedNode(options, owner)]
  }

  get pid(): number | undefined {
    return this.nodes[0].pid
  }

  /** Resolves when the engine is ready; rejects with an EngineStartError if it cannot start. */
  async start(): Promise<void> {
    const [node] = this.nodes
    node.start()
    await this.whenReady(node.startWithinMs)
  }

  hasInserts(mark: InsertMark): Promise<boolean> {
    return this.nodes[0].hasInserts(mark)
  }
}

interface EmbeddedEngineOptions {
  dataDir: string
  memoryBytes: number
  /** Factor for all timeouts of the engine process. */
  patience: number
  node: string
  environment: Readonly<Record<string, string | undefined>>
  clock: Clock
  log: Log
  /** The engine process, if it was launched ahead. */
  launched?: ChildProcess | undefined
  maxResultBytes?: number
  /** Opens the data without merging or removing any of it. */
  atRest?: boolean
  /** Further grants of the service's user, for commands that read another database. */
  grants?: readonly string[]
}

interface NodeOwner {
  onChange(node: EmbeddedNode): void
  /** The engine cannot start here. */
  onFailure(error: EngineStartError): void
}

interface Clients {
  service: ClickHouseClient
  reader: ClickHouseClient
  /** On a connection of its own, so that it does not wait for statements. */
  control: ClickHouseClient
}

const database = 'wellhead'
const maxConnections = 512
const idleMs = 30_000
const defaultMaxResultBytes = 128 * 2 ** 20
const maxTables = 10_000
const checkMs = 30_000

/** A part on disk is damaged. A query cannot forge this message: its own text never comes first. */
const brokenPart = /^(?:Empty|Bad size of) marks file /
const brokenPartCode = 246

/** The server of an engine process that the service starts. */
class EmbeddedNode implements EngineNode {
  readonly #options: EmbeddedEngineOptions
  readonly #owner: NodeOwner
  readonly #host: HostOptions
  readonly #process: EngineProcess
  readonly #queries: RunningQueries
  readonly #verifier = new InsertVerifier(maxTables)
  #clients: Clients | undefined
  #state: NodeState = { node: 'embedded', ready: false, restarts: 0, reason: 'The engine is starting.' }

  constructor(options: EmbeddedEngineOptions, owner: NodeOwner) {
    this.#options = options
    this.#owner = owner
    const { dataDir, memoryBytes, atRest, grants = [] } = options
    const secret = () => randomBytes(24).toString('base64url')
    this.#host = {
      directory: join(dataDir, 'engine'),
      runtimeDirectory: runtimeDirectoryOf(dataDir),
      database,
      memoryBytes,
      credentials: {
        key: secret(),
        service: { user: 'wellhead', password: secret() },
        reader: { user: 'reader', password: secret() },
      },
      grants: [...embeddedGrants(database), ...grants],
      ...(atRest && { atRest }),
    }
    this.#process = new EngineProcess({
      ...options,
      host: this.#host,
      connect: (port) => this.#connect(port),
      ping: async () => this.#clients?.control.http.send({ path: '/ping', maxResponseBytes: 1_000 }),
      isBusy: () => this.#queries.size > 0,
      onChange: (state, failure) => this.#become(state, failure),
      onCrash: () => this.#queries.onCrash(),
    })
    this.#queries = new RunningQueries({
      ...options,
      control: () => this.#clients?.control,
      pid: () => this.#process.pid,
      giveUp: (queryId) => this.#process.restart('query', 'a query ignored its time limit', { queryId }),
      ended: () => this.#process.ended(),
    })
  }

  get state(): NodeState {
    return this.#state
  }

  get load(): number {
    return this.#queries.size
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  get startWithinMs(): number {
    return this.#process.startWithinMs
  }

  get #checkLimits(): Limits {
    return { deadlineMs: checkMs * this.#options.patience }
  }

  start(): void {
    this.#process.start()
  }

  async query(statement: Statement, limits: Limits): Promise<QueryResult> {
    if (limits.asReader && readsFile(statement.sql)) {
      throw invalidQuery('The function file is not allowed.')
    }
    const { reader, service } = this.#open()
    const client = limits.asReader ? reader : service
    return this.#supervised(limits, statement, (own) => client.query(statement, own))
  }

  async command(statement: Omit<Statement, 'format'>, limits: Limits): Promise<void> {
    const { service } = this.#open()
    return this.#supervised(limits, undefined, (own) => service.command(statement, own))
  }

  hasInserts(mark: InsertMark): Promise<boolean> {
    const { service } = this.#open()
    return this.#verifier.hasInserts(mark, (sql) => queryText(service, { sql }, this.#checkLimits))
  }

  async insert(target: InsertInto, rows: Buffer, { onSend, ...limits }: InsertLimits): Promise<void> {
    const { service } = this.#open()
    return this.#supervised(limits, undefined, (own) =>
      this.#insertVerified(service, target, rows, { ...own, ...(onSend && { onSend }) }),
    )
  }

  #open(): Clients {
    if (!this.#clients) throw engineUnavailable('The engine is not available at the moment.')
    return this.#clients
  }

  #supervised<T>(
    limits: Limits,
    statement: Statement | undefined,
    send: (limits: Limits) => Promise<T>,
  ): Promise<T> {
    return this.#queries.run(limits, statement, send).catch((error) => {
      // When the engine opens its store, it detaches damaged parts and uses those they were merged from.
      if (!isBroken(error)) throw error
      this.#process.restart('data', 'a part on disk is damaged')
      throw engineUnavailable('The engine restarts, because a part on disk is damaged.', error)
    })
  }

  /** Resolves when the rows would survive a power cut, because the engine's word is not enough. */
  async #insertVerified(
    service: ClickHouseClient,
    target: InsertInto,
    rows: Buffer,
    { onSend, ...limits }: InsertLimits,
  ): Promise<void> {
    const read = (sql: string) => queryText(service, { sql }, this.#checkLimits)
    const table = target.table.includes('.') ? target.table : `${database}.${target.table}`
    const pending = await this.#verifier.begin(table, read).catch(diskTrouble)
    if (pending) onSend?.(pending)
    try {
      await service.insert(target, rows, limits)
    } catch (error) {
      const isGone = !pending || (await this.#verifier.confirmFailed(pending, read).catch(() => false))
      // Only an engine that opens its store forgets the log entry of an insert whose rows are missing.
      if (!isGone) this.#process.restart('data', 'a failed insert may be in the insert log without its rows')
      throw error
    }
    if (pending && !(await this.#verifier.confirm(pending, read).catch(diskTrouble))) {
      this.#process.restart('data', 'an insert is incomplete on disk')
      throw diskFull()
    }
  }

  refuse(limits: Limits, statement: Statement | undefined): void {
    this.#queries.refuse(limits, statement)
  }

  #become(state: NodeState, failure: EngineStartError | undefined): void {
    if (state.ready) this.#queries.reset()
    else this.#disconnect()
    this.#state = state
    this.#owner.onChange(this)
    if (failure) this.#owner.onFailure(failure)
  }

  async #connect(port: number): Promise<string> {
    this.#disconnect()
    const { key, service, reader } = this.#host.credentials
    const url = new URL(`http://127.0.0.1:${port}`)
    const server = { url, idleMs, compress: false, headers: { [keyHeader]: key } }
    const limits = {
      maxResultBytes: this.#options.maxResultBytes ?? defaultMaxResultBytes,
      graceMs: graceMs * this.#options.patience,
      // A query that crashes the engine must not crash the next one, too.
      repeatQueries: false,
    }
    const clientOf = (user: User) =>
      new ClickHouseClient({ ...server, ...user, database, maxConnections }, limits)
    const control = new ClickHouseClient({ ...server, ...service, maxConnections: 2 }, limits)
    this.#clients = { service: clientOf(service), reader: clientOf(reader), control }
    await control.command({ sql: `CREATE DATABASE IF NOT EXISTS \`${database}\`` }, this.#checkLimits)
    await checkDurability(control, this.#checkLimits)
    return queryText(control, { sql: 'SELECT version()' }, this.#checkLimits)
  }

  #disconnect(): void {
    for (const client of Object.values(this.#clients ?? {})) client.close()
    this.#clients = undefined
  }

  async close(): Promise<void> {
    // While the process still has the data directory: another one must not lose its files.
    if (this.#clients) rmSync(this.#host.runtimeDirectory, { recursive: true, force: true })
    await this.#process.stop()
    this.#queries.reset()
    this.#disconnect()
  }
}

/** The disk refused to be read or synced. */
function diskTrouble(error: unknown): never {
  if (isDiskFull(error)) throw diskFull()
  throw error instanceof WellheadError ? error : engineUnavailable('The disk fails at the moment.', error)
}

/** Whether it calls the function `file`, for which this server needs no grant. The allow-list of saved SQL comes before. */
function readsFile(sql: string): boolean {
  if (!/file/i.test(sql)) return false
  const tokens = codeTokens(sql)
  return tokens.some(
    (token, at) => identifierOf(token)?.toLowerCase() === 'file' && tokens[at + 1]?.text === '(',
  )
}

function isBroken(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof ClickHouseError && cause.code === brokenPartCode && brokenPart.test(cause.message)
}

/** Must run before the first insert. */
async function checkDurability(client: ClickHouseClient, limits: Limits): Promise<void> {
  const expected = Object.entries(durabilitySettings)
  const names = expected.map(([name]) => `'${name}'`).join(', ')
  const sql = `SELECT name, value FROM system.merge_tree_settings WHERE name IN (${names})`
  const lines = (await queryText(client, { sql }, limits)).split('\n')
  const reported = new Map(lines.map((line) => line.split('\t') as [string, string]))
  const wrong = expected.flatMap(([name, value]) =>
    reported.get(name) === value ? [] : [`${name} is ${reported.get(name) ?? 'unknown'}, not ${value}`],
  )
  if (wrong.length > 0) throw new Error(`The engine ignored its settings: ${wrong.join('; ')}.`)
}
