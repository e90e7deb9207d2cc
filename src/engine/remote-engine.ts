import { ClickHouseLogLevel, createClient } from '@clickhouse/client'
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
import { toWellheadError } from './engine-errors.ts'

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
  readonly #log: Log
  readonly #bootstrap: () => Promise<void>
  readonly #checkEveryMs: number
  #state: EngineState = { kind: 'starting', reason: 'ClickHouse was not reached yet.', restarts: 0 }
  #timer: NodeJS.Timeout | undefined

  constructor(options: RemoteEngineOptions) {
    const url = new URL(options.url)
    const username = options.user ?? (decodeURIComponent(url.username) || 'default')
    const password = options.password ?? decodeURIComponent(url.password)
    url.username = ''
    url.password = ''
    this.#log = options.log
    this.#bootstrap = () => createEngineDatabase(url, username, password, options.cluster)
    this.#checkEveryMs = options.checkEveryMs ?? defaults.checkEveryMs
    this.#calls = new ClickHouseCalls(
      createClient({
        url,
        database: engineDatabase,
        username,
        password,
        request_timeout: 24 * 3_600_000,
        max_open_connections: 100,
        compression: { request: false, response: false },
        log: { level: ClickHouseLogLevel.OFF },
      }),
      { maxResultBytes: options.maxResultBytes ?? defaults.maxResultBytes, graceMs: defaults.graceMs },
    )
  }

  /** A server that is away or refuses us at the start is most likely a mistake in the settings. */
  async start(): Promise<void> {
    await this.#bootstrap()
    const { body } = await this.query(
      { sql: 'SELECT version()', format: 'TabSeparatedRaw' },
      { deadlineMs: defaults.pingWithinMs },
    )
    this.#becomeReady(body.toString().trim())
    this.#checkLater()
  }

  #checkLater(): void {
    this.#timer = setTimeout(() => void this.#check(), this.#checkEveryMs)
    this.#timer.unref()
  }

  async #check(): Promise<void> {
    try {
      const { body } = await this.#calls.query(
        { sql: 'SELECT version()', format: 'TabSeparatedRaw' },
        { deadlineMs: defaults.pingWithinMs },
      )
      if (this.#state.kind === 'down') this.#becomeReady(body.toString().trim())
    } catch (error) {
      if (this.#state.kind === 'closed') return
      if (this.#state.kind === 'ready') this.#log.error({ err: error }, 'ClickHouse does not answer')
      this.#state = { kind: 'down', reason: 'ClickHouse does not answer.', restarts: this.#state.restarts }
    }
    if (this.#state.kind !== 'closed') this.#checkLater()
  }

  #becomeReady(engineVersion: string): void {
    const restarts = this.#state.restarts + (this.#state.kind === 'down' ? 1 : 0)
    this.#state = { kind: 'ready', engineVersion, restarts }
    this.#log.info({ engineVersion }, 'ClickHouse ready')
  }

  state(): EngineState {
    return this.#state
  }

  query(statement: Statement, limits: Limits): Promise<QueryResult> {
    return this.#calls.query(statement, limits)
  }

  insert(target: InsertInto, rows: Buffer, limits: Limits): Promise<Summary> {
    return this.#calls.insert(target, rows, limits)
  }

  command(statement: Omit<Statement, 'format'>, limits: Limits): Promise<Summary> {
    return this.#calls.command(statement, limits)
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#state = { kind: 'closed', reason: 'Closed.', restarts: this.#state.restarts }
    await this.#calls.close()
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
