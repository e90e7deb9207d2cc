import { type ClickHouseClient, ClickHouseLogLevel, createClient } from '@clickhouse/client'
import type { Log } from '../base/log.ts'
import { ClickHouseCalls } from './clickhouse-calls.ts'
import {
  type Engine,
  type EngineState,
  engineDatabase,
  type InsertInto,
  type Limits,
  type QueryResult,
  type Statement,
  type Summary,
} from './engine.ts'
import { isUnreachable, toWellheadError } from './engine-errors.ts'
import { Waiters } from './waiters.ts'
import { whenReady } from './when-ready.ts'

export interface RemoteEngineOptions {
  url: string
  user?: string | undefined
  password?: string | undefined
  /** Cluster on which the database is made. */
  cluster?: string | undefined
  log: Log
  maxResultBytes?: number
  /** How often the server is asked whether it is there. */
  checkEveryMs?: number
}

const defaults = {
  maxResultBytes: 128 * 2 ** 20,
  graceMs: 1_000,
  checkEveryMs: 1_000,
  pingWithinMs: 5_000,
} as const

/** The same calls, answered by a ClickHouse server that somebody else runs. */
export class RemoteEngine implements Engine {
  readonly #calls: ClickHouseCalls
  readonly #checker: ClickHouseClient
  readonly #log: Log
  readonly #bootstrap: () => Promise<void>
  readonly #checkEveryMs: number
  readonly #waiters = new Waiters()
  #state: EngineState = { kind: 'starting', reason: 'ClickHouse was not reached yet.', restarts: 0 }
  #timer: NodeJS.Timeout | undefined
  #checking: Promise<void> | undefined

  constructor(options: RemoteEngineOptions) {
    const url = new URL(options.url)
    const username = options.user ?? (decodeURIComponent(url.username) || 'default')
    const password = options.password ?? decodeURIComponent(url.password)
    url.username = ''
    url.password = ''
    this.#log = options.log
    this.#bootstrap = () => createEngineDatabase(url, username, password, options.cluster)
    this.#checkEveryMs = options.checkEveryMs ?? defaults.checkEveryMs
    const connection = { url, database: engineDatabase, username, password }
    const log = { level: ClickHouseLogLevel.OFF }
    // On a connection of its own, so that it does not wait behind calls when all others are in use.
    this.#checker = createClient({ ...connection, request_timeout: defaults.pingWithinMs, log })
    this.#calls = new ClickHouseCalls(
      createClient({
        ...connection,
        request_timeout: 24 * 3_600_000,
        max_open_connections: 100,
        compression: { request: false, response: false },
        log,
      }),
      { maxResultBytes: options.maxResultBytes ?? defaults.maxResultBytes, graceMs: defaults.graceMs },
    )
  }

  /** A server that is away or refuses us at the start is most likely a mistake in the settings. */
  async start(): Promise<void> {
    await this.#bootstrap()
    await this.#findServer()
    this.#checkLater()
  }

  /** A server that is known to be ready is only pinged: however busy it is, it answers that. */
  async #findServer(): Promise<void> {
    if (this.#state.kind === 'ready') {
      const answer = await this.#checker.ping()
      if (!answer.success) throw answer.error
    } else {
      const { body } = await this.#calls.query(
        { sql: 'SELECT version()', format: 'TabSeparatedRaw' },
        { deadlineMs: defaults.pingWithinMs },
      )
      this.#becomeReady(body.toString().trim())
    }
  }

  #checkLater(): void {
    if (this.#state.kind === 'closed') return
    this.#timer = setTimeout(() => this.#check(), this.#checkEveryMs)
    this.#timer.unref()
  }

  #check(): void {
    clearTimeout(this.#timer)
    this.#checking ??= this.#findServer()
      .catch((error) => this.#becomeAway(error))
      .finally(() => {
        this.#checking = undefined
        this.#checkLater()
      })
  }

  #becomeAway(error: unknown): void {
    if (this.#state.kind === 'closed') return
    if (this.#state.kind === 'ready') this.#log.error({ err: error }, 'ClickHouse does not answer')
    this.#state = { kind: 'down', reason: 'ClickHouse does not answer.', restarts: this.#state.restarts }
  }

  #becomeReady(engineVersion: string): void {
    if (this.#state.kind === 'closed') return
    const restarts = this.#state.restarts + (this.#state.kind === 'down' ? 1 : 0)
    this.#state = { kind: 'ready', engineVersion, restarts }
    this.#log.info({ engineVersion }, 'ClickHouse ready')
    this.#waiters.resolve()
  }

  state(): EngineState {
    return this.#state
  }

  query(statement: Statement, limits: Limits): Promise<QueryResult> {
    return this.#run(limits, (rest) => this.#calls.query(statement, rest))
  }

  insert(target: InsertInto, rows: Buffer, limits: Limits): Promise<Summary> {
    return this.#run(limits, (rest) => this.#calls.insert(target, rows, rest))
  }

  command(statement: Omit<Statement, 'format'>, limits: Limits): Promise<Summary> {
    return this.#run(limits, (rest) => this.#calls.command(statement, rest))
  }

  /** While the server is away a call waits a little for it, so that who tries again does so in peace. */
  async #run<T>(limits: Limits, call: (limits: Limits) => Promise<T>): Promise<T> {
    const rest =
      this.#state.kind === 'down'
        ? await whenReady(limits, (withinMs, signal) => this.#waiters.wait(withinMs, signal))
        : limits
    try {
      return await call(rest)
    } catch (error) {
      // One broken connection says little, so the server itself is asked.
      if (isUnreachable(error)) this.#check()
      throw error
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#state = { kind: 'closed', reason: 'Closed.', restarts: this.#state.restarts }
    this.#waiters.reject(new Error('The engine is closed.'))
    await Promise.all([this.#calls.close(), this.#checker.close()])
  }
}

/** A server refuses every call that names a database it does not have, so this one names none. */
async function createEngineDatabase(
  url: URL,
  username: string,
  password: string,
  cluster?: string,
): Promise<void> {
  const client = createClient({ url, username, password, log: { level: ClickHouseLogLevel.OFF } })
  const where = cluster === undefined ? '' : ` ON CLUSTER \`${cluster}\``
  try {
    await client.command({ query: `CREATE DATABASE IF NOT EXISTS ${engineDatabase}${where}` })
  } catch (error) {
    throw toWellheadError(error, { deadlineMs: defaults.pingWithinMs, ended: 'by-engine' })
  } finally {
    await client.close()
  }
}
