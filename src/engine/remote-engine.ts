import type { Log } from '../base/log.ts'
import { engineDatabase } from '../sql/names.ts'
import { ClickHouseCalls } from './clickhouse-calls.ts'
import { ClickHouseHttp, type ClickHouseServer } from './clickhouse-http.ts'
import type { Engine, EngineState, InsertInto, Limits, QueryResult, Statement, Summary } from './engine.ts'
import { isUnreachable } from './engine-errors.ts'
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
  bootstrapWithinMs: 30_000,
  maxConnections: 100,
  /** Servers keep an idle connection for 3 s or longer. */
  idleMs: 2_500,
} as const

/** The same calls, answered by a ClickHouse server that somebody else runs. */
export class RemoteEngine implements Engine {
  readonly #calls: ClickHouseCalls
  readonly #checker: ClickHouseHttp
  readonly #log: Log
  readonly #bootstrap: () => Promise<void>
  readonly #checkEveryMs: number
  readonly #waiters = new Waiters()
  #state: EngineState = { kind: 'starting', reason: 'ClickHouse was not reached yet.', restarts: 0 }
  #timer: NodeJS.Timeout | undefined
  #checking: Promise<void> | undefined

  constructor(options: RemoteEngineOptions) {
    const url = new URL(options.url)
    const user = options.user ?? (decodeURIComponent(url.username) || 'default')
    const password = options.password ?? decodeURIComponent(url.password)
    url.username = ''
    url.password = ''
    this.#log = options.log
    this.#checkEveryMs = options.checkEveryMs ?? defaults.checkEveryMs
    const server = { url, user, password, maxConnections: 1, idleMs: defaults.idleMs, compress: true }
    this.#bootstrap = () => createEngineDatabase(server, options.cluster)
    // On a connection of its own, so that it does not wait behind calls when all others are in use.
    this.#checker = new ClickHouseHttp(server)
    this.#calls = new ClickHouseCalls(
      new ClickHouseHttp({ ...server, database: engineDatabase, maxConnections: defaults.maxConnections }),
      {
        maxResultBytes: options.maxResultBytes ?? defaults.maxResultBytes,
        graceMs: defaults.graceMs,
        repeatQueries: true,
      },
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
      await this.#ping()
    } else {
      const { body } = await this.#calls.query(
        { sql: 'SELECT version()', format: 'TabSeparatedRaw' },
        { deadlineMs: defaults.pingWithinMs },
      )
      this.#becomeReady(body.toString().trim())
    }
  }

  async #ping(): Promise<void> {
    const { answer, end } = this.#checker.call({ path: '/ping', maxResponseBytes: 1024, repeatable: true })
    const timer = setTimeout(end, defaults.pingWithinMs)
    await answer.finally(() => clearTimeout(timer))
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
    this.#calls.close()
    this.#checker.close()
  }
}

/** A server refuses every call that names a database it does not have, so this one names none. */
async function createEngineDatabase(server: ClickHouseServer, cluster?: string): Promise<void> {
  const calls = new ClickHouseCalls(new ClickHouseHttp(server), {
    maxResultBytes: defaults.maxResultBytes,
    graceMs: defaults.graceMs,
    repeatQueries: false,
  })
  const where = cluster === undefined ? '' : ` ON CLUSTER \`${cluster}\``
  try {
    await calls.command(
      { sql: `CREATE DATABASE IF NOT EXISTS ${engineDatabase}${where}` },
      { deadlineMs: defaults.bootstrapWithinMs },
    )
  } finally {
    calls.close()
  }
}
