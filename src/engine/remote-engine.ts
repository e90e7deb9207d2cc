import type { Log } from '../base/log.ts'
import { ClickHouseClient } from './clickhouse-client.ts'
import { ClickHouseHttp, type ClickHouseServer } from './clickhouse-http.ts'
import type { Engine, EngineState, InsertInto, Limits, QueryResult, Statement, Summary } from './engine.ts'
import { isUnreachable } from './engine-errors.ts'
import { ReadyWaiters, whenReady } from './readiness.ts'

interface RemoteEngineOptions {
  url: string
  user?: string | undefined
  password?: string | undefined
  /** Created if it does not exist. */
  database: string
  /** Cluster on which the database is created. */
  cluster?: string | undefined
  log: Log
  maxResultBytes?: number
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

/** A ClickHouse server or cluster that is run by others. */
export class RemoteEngine implements Engine {
  readonly database: string
  readonly #client: ClickHouseClient
  readonly #checker: ClickHouseHttp
  readonly #log: Log
  readonly #bootstrap: () => Promise<void>
  readonly #checkEveryMs: number
  readonly #waiters = new ReadyWaiters()
  #state: EngineState = { kind: 'starting', reason: 'ClickHouse was not reached yet.', restarts: 0 }
  #timer: NodeJS.Timeout | undefined
  #checking: Promise<void> | undefined

  constructor(options: RemoteEngineOptions) {
    const url = new URL(options.url)
    const user = options.user ?? (decodeURIComponent(url.username) || 'default')
    const password = options.password ?? decodeURIComponent(url.password)
    url.username = ''
    url.password = ''
    this.database = options.database
    this.#log = options.log
    this.#checkEveryMs = options.checkEveryMs ?? defaults.checkEveryMs
    const server = { url, user, password, maxConnections: 1, idleMs: defaults.idleMs, compress: true }
    this.#bootstrap = () => createDatabase(server, options)
    // On a connection of its own, so that a check does not wait for running queries.
    this.#checker = new ClickHouseHttp(server)
    this.#client = new ClickHouseClient(
      new ClickHouseHttp({ ...server, database: this.database, maxConnections: defaults.maxConnections }),
      {
        maxResultBytes: options.maxResultBytes ?? defaults.maxResultBytes,
        graceMs: defaults.graceMs,
        repeatQueries: true,
      },
    )
  }

  /** Rejects if the server cannot be reached, because at the start that is most likely a wrong setting. */
  async start(): Promise<void> {
    await this.#bootstrap()
    await this.#findServer()
    this.#checkLater()
  }

  /** Only pings a server that was ready, because even a busy server responds to that. */
  async #findServer(): Promise<void> {
    if (this.#state.kind === 'ready') return this.#ping()
    const { body } = await this.#client.query(
      { sql: 'SELECT version()', format: 'TabSeparatedRaw' },
      { deadlineMs: defaults.pingWithinMs },
    )
    this.#becomeReady(body.toString().trim())
  }

  async #ping(): Promise<void> {
    const ping = { path: '/ping', maxResponseBytes: 1024, repeatable: true }
    const { response, cancel } = this.#checker.send(ping)
    const timer = setTimeout(cancel, defaults.pingWithinMs)
    await response.finally(() => clearTimeout(timer))
  }

  #checkLater(): void {
    if (this.#state.kind === 'closed') return
    this.#timer = setTimeout(() => this.#check(), this.#checkEveryMs)
    this.#timer.unref()
  }

  #check(): void {
    clearTimeout(this.#timer)
    this.#checking ??= this.#findServer()
      .catch((error) => this.#becomeDown(error))
      .finally(() => {
        this.#checking = undefined
        this.#checkLater()
      })
  }

  #becomeDown(error: unknown): void {
    if (this.#state.kind === 'closed') return
    if (this.#state.kind === 'ready') this.#log.error({ err: error }, 'ClickHouse does not respond')
    this.#state = { kind: 'down', reason: 'ClickHouse does not respond.', restarts: this.#state.restarts }
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
    return this.#run(limits, (rest) => this.#client.query(statement, rest))
  }

  insert(target: InsertInto, rows: Buffer, limits: Limits): Promise<Summary> {
    return this.#run(limits, (rest) => this.#client.insert(target, rows, rest))
  }

  command(statement: Omit<Statement, 'format'>, limits: Limits): Promise<Summary> {
    return this.#run(limits, (rest) => this.#client.command(statement, rest))
  }

  /** Waits a moment for a server that is down, so that clients do not retry in a tight loop. */
  async #run<T>(limits: Limits, send: (limits: Limits) => Promise<T>): Promise<T> {
    const rest =
      this.#state.kind === 'down'
        ? await whenReady(limits, (withinMs, signal) => this.#waiters.wait(withinMs, signal))
        : limits
    try {
      return await send(rest)
    } catch (error) {
      // A single connection may break while the server is fine, so check the server.
      if (isUnreachable(error)) this.#check()
      throw error
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#state = { kind: 'closed', reason: 'Closed.', restarts: this.#state.restarts }
    this.#waiters.reject(new Error('The engine is closed.'))
    this.#client.close()
    this.#checker.close()
  }
}

/** Uses a client without a default database, because a server refuses requests that name a missing one. */
async function createDatabase(
  server: ClickHouseServer,
  { database, cluster }: RemoteEngineOptions,
): Promise<void> {
  const { maxResultBytes, graceMs } = defaults
  const limits = { maxResultBytes, graceMs, repeatQueries: false }
  const client = new ClickHouseClient(new ClickHouseHttp(server), limits)
  const where = cluster === undefined ? '' : ` ON CLUSTER \`${cluster}\``
  try {
    await client.command(
      { sql: `CREATE DATABASE IF NOT EXISTS \`${database}\`${where}` },
      { deadlineMs: defaults.bootstrapWithinMs },
    )
  } finally {
    client.close()
  }
}
