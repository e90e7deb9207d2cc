import { createHash } from 'node:crypto'
import { Agent } from 'node:http'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClickHouseLogLevel, createClient } from '@clickhouse/client'
import type { Clock } from '../base/clock.ts'
import { engineUnavailable, queryRefused, queryTimeout } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { ClickHouseCalls } from './clickhouse-calls.ts'
import { CrashGuard } from './crash-guard.ts'
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
import { EngineProcess } from './engine-process.ts'

export interface EmbeddedEngineOptions {
  dataDir: string
  memoryBytes: number
  /** Factor on every time after which the engine process counts as hanging. */
  patience: number
  node: string
  environment: Readonly<Record<string, string | undefined>>
  clock: Clock
  log: Log
  maxResultBytes?: number
  /** So many ends of the engine during a query make that query refused for a while. */
  crashesBeforeRefusal?: number
}

const defaults = {
  /** How long a call waits for an engine that is being started again. */
  waitForReadyMs: 2_000,
  startWithinMs: 30_000,
  hangsAfterMs: 2_000,
  heartbeatMs: 500,
  graceMs: 1_000,
  stopWithinMs: 5_000,
  backoffMs: [100, 500, 1_000, 5_000, 10_000],
  maxResultBytes: 128 * 2 ** 20,
  maxWaiting: 1_000,
  crashesBeforeRefusal: 3,
  crashWindowMs: 60_000,
  refusalMs: 600_000,
} as const

/** The longest path that fits into a socket address everywhere. */
const maxSocketPathLength = 100

/** In the data directory where its path is short enough, else in a private one for temporary files. */
export function socketPathFor(dataDir: string): string {
  const inside = join(dataDir, 'engine', 'engine.sock')
  if (Buffer.byteLength(inside) <= maxSocketPathLength) return inside
  const hash = createHash('sha256').update(dataDir).digest('hex').slice(0, 16)
  return join(tmpdir(), `wellhead-${hash}`, 'engine.sock')
}

/** Calls are answered by a ClickHouse in a process of our own, spoken to over a local socket. */
export class EmbeddedEngine implements Engine {
  readonly #options: EmbeddedEngineOptions
  readonly #process: EngineProcess
  readonly #calls: ClickHouseCalls
  readonly #guard: CrashGuard
  readonly #running = new Map<symbol, string>()

  constructor(options: EmbeddedEngineOptions) {
    this.#options = options
    const socketPath = socketPathFor(options.dataDir)
    const { patience, log } = options
    this.#process = new EngineProcess({
      node: options.node,
      environment: options.environment,
      host: {
        directory: join(options.dataDir, 'engine'),
        listen: { socketPath },
        database: engineDatabase,
        memoryBytes: options.memoryBytes,
        sessions: Math.max(8, cpus().length * 2),
        maxWaiting: defaults.maxWaiting,
        graceMs: defaults.graceMs * patience,
      },
      log,
      heartbeatMs: defaults.heartbeatMs,
      hangsAfterMs: defaults.hangsAfterMs * patience,
      startWithinMs: defaults.startWithinMs * patience,
      backoffMs: defaults.backoffMs,
      onCrash: () => this.#blame(),
    })
    this.#guard = new CrashGuard({
      clock: options.clock,
      crashes: options.crashesBeforeRefusal ?? defaults.crashesBeforeRefusal,
      windowMs: defaults.crashWindowMs * patience,
      refusalMs: defaults.refusalMs,
      maxEntries: 10_000,
    })
    const client = createClient({
      url: 'http://engine',
      http_agent: new Agent({ keepAlive: true, keepAliveMsecs: 1_000, ...{ socketPath } }),
      request_timeout: 24 * 3_600_000,
      compression: { request: false, response: false },
      log: { level: ClickHouseLogLevel.OFF },
    })
    this.#calls = new ClickHouseCalls(client, {
      maxResultBytes: options.maxResultBytes ?? defaults.maxResultBytes,
      graceMs: defaults.graceMs * patience,
    })
  }

  /** Rejects with an EngineStartError when it cannot work here. */
  start(): Promise<void> {
    return this.#process.start()
  }

  /** Process id of the engine; tests end it. */
  get pid(): number | undefined {
    return this.#process.pid
  }

  state(): EngineState {
    return this.#process.state()
  }

  query(statement: Statement, limits: Limits): Promise<QueryResult> {
    return this.#run(statement.sql, limits, (rest) => this.#calls.query(statement, rest))
  }

  insert(target: InsertInto, rows: Buffer, limits: Limits): Promise<Summary> {
    return this.#run(`INSERT INTO ${target.table}`, limits, (rest) => this.#calls.insert(target, rows, rest))
  }

  command(statement: Omit<Statement, 'format'>, limits: Limits): Promise<Summary> {
    return this.#run(statement.sql, limits, (rest) => this.#calls.command(statement, rest))
  }

  async #run<T>(sql: string, limits: Limits, call: (limits: Limits) => Promise<T>): Promise<T> {
    const refusedForMs = this.#guard.refusedForMs(sql)
    if (refusedForMs > 0) throw queryRefused(Math.ceil(refusedForMs / 1000))
    const waitedMs = await this.#ready(limits)
    const deadlineMs = limits.deadlineMs - waitedMs
    if (deadlineMs <= 0) throw queryTimeout(limits.deadlineMs / 1000)
    const id = Symbol(sql.slice(0, 40))
    this.#running.set(id, sql)
    try {
      const result = await call({ ...limits, deadlineMs })
      this.#guard.clear(sql)
      return result
    } finally {
      this.#running.delete(id)
    }
  }

  /** Waits a moment for an engine that is coming back, rather than fail a call that could be answered. */
  async #ready(limits: Limits): Promise<number> {
    if (this.#process.state().kind === 'ready') return 0
    const since = performance.now()
    const waitMs = Math.min(limits.deadlineMs, defaults.waitForReadyMs)
    try {
      await this.#process.whenReady(waitMs, limits.signal)
    } catch (error) {
      throw engineUnavailable('The engine is being started again.', error)
    }
    return performance.now() - since
  }

  #blame(): void {
    for (const sql of this.#guard.blame(this.#running.values())) {
      this.#options.log.error({ query: sql }, 'this query stopped the engine repeatedly and is refused')
    }
  }

  async close(): Promise<void> {
    await this.#process.stop(defaults.stopWithinMs)
    await this.#calls.close()
  }
}
