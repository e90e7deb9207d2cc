import { createHash, randomUUID } from 'node:crypto'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../base/clock.ts'
import {
  callerRefused,
  engineUnavailable,
  queryCancelled,
  queryRefused,
  queryTimeout,
} from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { engineDatabase } from '../sql/names.ts'
import { ClickHouseCalls } from './clickhouse-calls.ts'
import { ClickHouseHttp } from './clickhouse-http.ts'
import { CrashGuard, type Refusal, type Suspect } from './crash-guard.ts'
import type { Engine, EngineState, InsertInto, Limits, QueryResult, Statement, Summary } from './engine.ts'
import { EngineProcess } from './engine-process.ts'
import { whenReady } from './when-ready.ts'

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
  /** Whether the data is only looked at, and no part of it merged or removed meanwhile. */
  atRest?: boolean
  /** So many ends of the engine during a query make that query refused for a while. */
  crashesBeforeRefusal?: number
}

const defaults = {
  startWithinMs: 30_000,
  hangsAfterMs: 2_000,
  heartbeatMs: 500,
  graceMs: 1_000,
  stopWithinMs: 5_000,
  backoffMs: [0, 100, 500, 1_000, 5_000, 10_000],
  steadyAfterMs: 10_000,
  maxConnections: 512,
  /** Half as long as the process keeps an idle connection. */
  idleMs: 30_000,
  maxResultBytes: 128 * 2 ** 20,
  maxWaiting: 1_000,
  crashesBeforeRefusal: 3,
  crashWindowMs: 60_000,
  refusalMs: 600_000,
  blamed: { windowMs: 24 * 3_600_000, refusalMs: 300_000, growth: 4, maxRefusalMs: 6 * 3_600_000 },
} as const

const maxLeft = 1_000

/** A crash is noticed only when the process has been silent for a while. */
const leftRecentlyMs = 10_000

/** The longest path that fits into a socket address everywhere. */
const maxSocketPathLength = 100

/** In the data directory where its path is short enough, else in a private one for temporary files. */
export function socketPathFor(dataDir: string): string {
  const inside = join(dataDir, 'engine', 'engine.sock')
  if (Buffer.byteLength(inside) <= maxSocketPathLength) return inside
  const hash = createHash('sha256').update(dataDir).digest('hex').slice(0, 16)
  return join(tmpdir(), `wellhead-${hash}`, 'engine.sock')
}

/** Where the engine keeps what is stored. */
export function storeDirectoryOf(dataDir: string): string {
  return join(dataDir, 'engine', 'store')
}

/** Calls are answered by a ClickHouse in a process of our own, spoken to over a local socket. */
export class EmbeddedEngine implements Engine {
  readonly #options: EmbeddedEngineOptions
  readonly #process: EngineProcess
  readonly #calls: ClickHouseCalls
  readonly #guard: CrashGuard
  /** What each running query is known by when it comes again, and who sent it. */
  readonly #running = new Map<string, Suspect>()
  /** Queries whose callers left, which may ignore that and end the engine later. */
  readonly #left = new Map<string, Suspect & { leftAt: number }>()
  #overdue: string | undefined

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
        atRest: options.atRest ?? false,
      },
      log,
      heartbeatMs: defaults.heartbeatMs,
      hangsAfterMs: defaults.hangsAfterMs * patience,
      startWithinMs: defaults.startWithinMs * patience,
      backoffMs: defaults.backoffMs,
      steadyAfterMs: defaults.steadyAfterMs,
      onCrash: (overdueQueryId) => this.#blame(overdueQueryId),
    })
    this.#guard = new CrashGuard({
      clock: options.clock,
      crashes: options.crashesBeforeRefusal ?? defaults.crashesBeforeRefusal,
      windowMs: defaults.crashWindowMs * patience,
      refusalMs: defaults.refusalMs,
      blamed: defaults.blamed,
      maxEntries: 10_000,
    })
    const server = new ClickHouseHttp({
      url: new URL('http://engine'),
      socketPath,
      maxConnections: defaults.maxConnections,
      idleMs: defaults.idleMs,
      compress: false,
    })
    this.#calls = new ClickHouseCalls(server, {
      maxResultBytes: options.maxResultBytes ?? defaults.maxResultBytes,
      // Twice as long as the process gives itself: it must be the one to say which query it was.
      graceMs: 2 * defaults.graceMs * patience,
      // A query that ends the engine must not be sent to the next one.
      repeatQueries: false,
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
    return this.#run(keyOf(statement), limits, (rest) => this.#calls.query(statement, rest))
  }

  /** What a sender sends is never refused for what the engine made of it. */
  insert(target: InsertInto, rows: Buffer, limits: Limits): Promise<Summary> {
    return this.#run(undefined, limits, (rest) => this.#calls.insert(target, rows, rest))
  }

  command(statement: Omit<Statement, 'format'>, limits: Limits): Promise<Summary> {
    return this.#run(undefined, limits, (rest) => this.#calls.command(statement, rest))
  }

  async #run<T>(key: string | undefined, limits: Limits, call: (limits: Limits) => Promise<T>): Promise<T> {
    const suspect = key === undefined ? undefined : { statement: key, blame: limits.blame ?? [] }
    this.#checkRefusals(suspect)
    let rest = limits
    if (this.#process.state().kind !== 'ready') {
      rest = await whenReady(limits, (withinMs, signal) => this.#process.whenReady(withinMs, signal))
      // Who waits for the engine may be the one who ended it.
      this.#checkRefusals(suspect)
    }
    const queryId = randomUUID()
    if (suspect) this.#running.set(queryId, suspect)
    try {
      const result = await call({ ...rest, queryId })
      if (suspect) this.#guard.clear(suspect.statement)
      return result
    } catch (error) {
      if (suspect && queryCancelled.is(error)) this.#remember(queryId, suspect, rest.deadlineMs)
      if (!engineUnavailable.is(error)) throw error
      // The connection broke. When the end of the process is known, so is whose query ended it.
      await Promise.race([this.#process.ended(), delay(defaults.heartbeatMs, undefined, { ref: false })])
      throw this.#overdue === queryId ? queryTimeout(limits.deadlineMs / 1000) : error
    } finally {
      this.#running.delete(queryId)
    }
  }

  #checkRefusals(suspect: Suspect | undefined): void {
    if (!suspect) return
    const blamedForMs = this.#guard.blamedForMs(suspect.blame)
    if (blamedForMs > 0) throw callerRefused(Math.ceil(blamedForMs / 1000))
    const refusedForMs = this.#guard.refusedForMs(suspect.statement)
    if (refusedForMs > 0) throw queryRefused(Math.ceil(refusedForMs / 1000))
  }

  #blame(overdueQueryId: string | undefined): void {
    this.#overdue = overdueQueryId
    for (const { key, forMs } of this.#refusals(overdueQueryId)) {
      this.#options.log.error(
        { refused: key, queryId: overdueQueryId, forSeconds: Math.ceil(forMs / 1000) },
        'queries are refused for a while, since they stopped the engine',
      )
    }
  }

  #refusals(overdueQueryId: string | undefined): Refusal[] {
    const left = new Map(this.#left)
    // None of them runs in the next process.
    this.#left.clear()
    if (overdueQueryId === undefined) {
      // Leaving at once would otherwise spare the sender of a query that crashes the engine.
      const since = performance.now() - leftRecentlyMs * this.#options.patience
      const recent = [...left.values()].filter(({ leftAt }) => leftAt >= since)
      return this.#guard.suspect([...this.#running.values(), ...recent])
    }
    const guilty = this.#running.get(overdueQueryId) ?? left.get(overdueQueryId)
    return guilty ? this.#guard.convict(guilty) : []
  }

  #remember(queryId: string, suspect: Suspect, deadlineMs: number): void {
    if (this.#left.size >= maxLeft) this.#left.delete(this.#left.keys().next().value as string)
    this.#left.set(queryId, { ...suspect, leftAt: performance.now() })
    const graceMs = 2 * defaults.graceMs * this.#options.patience
    setTimeout(() => this.#left.delete(queryId), deadlineMs + graceMs).unref()
  }

  async close(): Promise<void> {
    await this.#process.stop(defaults.stopWithinMs)
    this.#calls.close()
  }
}

/**
 * The same SQL with other values is another query: one caller's values must not refuse another's. Only a hash, since the
 * log names it.
 */
function keyOf({ sql, parameters = {} }: Statement): string {
  const hash = createHash('sha256').update(JSON.stringify([sql, parameters]))
  return `statement:${hash.digest('hex').slice(0, 32)}`
}
