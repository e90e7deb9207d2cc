import type { ChildProcess } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../base/clock.ts'
import {
  callerRefused,
  engineUnavailable,
  queryCancelled,
  queryRefused,
  queryTimeout,
} from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { ClickHouseClient } from './clickhouse-client.ts'
import { ClickHouseHttp } from './clickhouse-http.ts'
import { blamedBounds, CrashGuard, type Refusal, type Suspect } from './crash-guard.ts'
import type { Engine, EngineState, InsertInto, Limits, QueryResult, Statement } from './engine.ts'
import { EngineProcess } from './engine-process.ts'
import { isLocked, ownerOf } from './host/directory-lock.ts'
import { defaultGrants } from './host/engine-config.ts'
import { EngineStartError } from './host/protocol.ts'
import { defaultSessions } from './launch-host.ts'
import { whenReady } from './readiness.ts'

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
  /** Further grants of the engine's user, for commands that read another database. */
  grants?: readonly string[]
  /** Number of crashes during a query after which the query is refused for a while. */
  crashesBeforeRefusal?: number
}

const defaults = {
  graceMs: 1_000,
  maxConnections: 512,
  /** Half as long as the process keeps an idle connection. */
  idleMs: 30_000,
  maxResultBytes: 128 * 2 ** 20,
  maxWaiting: 1_000,
  crashesBeforeRefusal: 3,
  crashWindowMs: 60_000,
  refusalMs: 600_000,
} as const

/** How long after its time limit a query that ended the engine is known; a busy machine notices it late. */
const overdueWithinMs = 60_000

/** A crash is detected only after the process has been silent for a while. */
const recentlyMs = 10_000

/** The longest path that fits into a socket address everywhere. */
const maxSocketPathLength = 100

/** In the data directory if the path is short enough, else in a private temporary directory. */
export function socketPathFor(dataDir: string): string {
  const inside = join(dataDir, 'engine', 'engine.sock')
  if (Buffer.byteLength(inside) <= maxSocketPathLength) return inside
  const hash = createHash('sha256').update(dataDir).digest('hex').slice(0, 16)
  return join(tmpdir(), `wellhead-${hash}`, 'engine.sock')
}

export function storeDirectoryOf(dataDir: string): string {
  return join(dataDir, 'engine', 'store')
}

/** Throws if another process uses the data directory. The engine process notices that, too, but later. */
export function checkUnused(dataDir: string): void {
  const status = join(storeDirectoryOf(dataDir), 'status')
  const owner = ownerOf(status)
  if (owner === undefined || !isLocked(status)) return
  throw new EngineStartError('in-use', `Process ${owner} has it open.`)
}

/** Version of the package `chdb`, read without loading the engine. */
export function engineLibraryVersion(): string {
  const entry = createRequire(import.meta.url).resolve('chdb')
  const text = readFileSync(join(dirname(entry), 'package.json'), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

export class EmbeddedEngine implements Engine {
  readonly database = 'wellhead'
  readonly #options: EmbeddedEngineOptions
  readonly #process: EngineProcess
  readonly #client: ClickHouseClient
  readonly #guard: CrashGuard
  readonly #running = new Map<string, Suspect>()
  /** Queries whose callers left. They may still be running and crash the engine. */
  readonly #abandoned = new LRUCache<string, Suspect & { leftAt: number }>({ max: 1_000 })
  #overdueQueryId: string | undefined

  constructor(options: EmbeddedEngineOptions) {
    this.#options = options
    const socketPath = socketPathFor(options.dataDir)
    const { patience, log } = options
    this.#process = new EngineProcess({
      node: options.node,
      environment: options.environment,
      host: {
        directory: join(options.dataDir, 'engine'),
        socketPath,
        database: this.database,
        memoryBytes: options.memoryBytes,
        sessions: defaultSessions,
        maxWaiting: defaults.maxWaiting,
        graceMs: defaults.graceMs * patience,
        atRest: options.atRest ?? false,
        ...(options.grants && { grants: [...defaultGrants, ...options.grants] }),
      },
      launched: options.launched,
      log,
      patience,
      onCrash: (overdueQueryId) => this.#blame(overdueQueryId),
    })
    this.#guard = new CrashGuard({
      clock: options.clock,
      crashes: options.crashesBeforeRefusal ?? defaults.crashesBeforeRefusal,
      windowMs: defaults.crashWindowMs * patience,
      refusalMs: defaults.refusalMs,
      blamed: blamedBounds,
      maxEntries: 10_000,
    })
    const server = new ClickHouseHttp({
      url: new URL('http://engine'),
      socketPath,
      maxConnections: defaults.maxConnections,
      idleMs: defaults.idleMs,
      compress: false,
    })
    this.#client = new ClickHouseClient(server, {
      maxResultBytes: options.maxResultBytes ?? defaults.maxResultBytes,
      // Longer than the grace of the process, so that the process reports which query it was.
      graceMs: 2 * defaults.graceMs * patience,
      // A query that crashes the engine must not crash the next one, too.
      repeatQueries: false,
    })
  }

  start(): Promise<void> {
    return this.#process.start()
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  state(): EngineState {
    return this.#process.state()
  }

  query(statement: Statement, limits: Limits): Promise<QueryResult> {
    return this.#run(keyOf(statement), limits, (rest) => this.#client.query(statement, rest))
  }

  /** Inserts and commands are never blamed for a crash. */
  insert(target: InsertInto, rows: Buffer, limits: Limits): Promise<void> {
    return this.#run(undefined, limits, (rest) => this.#client.insert(target, rows, rest))
  }

  command(statement: Omit<Statement, 'format'>, limits: Limits): Promise<void> {
    return this.#run(undefined, limits, (rest) => this.#client.command(statement, rest))
  }

  async #run<T>(key: string | undefined, limits: Limits, send: (limits: Limits) => Promise<T>): Promise<T> {
    const suspect = key === undefined ? undefined : { statement: key, blame: limits.blame ?? [] }
    this.#checkRefusals(suspect)
    let rest = limits
    if (this.#process.state().kind !== 'ready') {
      rest = await whenReady(limits, (withinMs, signal) => this.#process.whenReady(withinMs, signal))
      // This caller may have crashed the engine that it waits for.
      this.#checkRefusals(suspect)
    }
    const queryId = randomUUID()
    if (suspect) this.#running.set(queryId, suspect)
    try {
      const result = await send({ ...rest, queryId })
      if (suspect) this.#guard.clear(suspect.statement)
      return result
    } catch (error) {
      if (suspect && queryCancelled.is(error)) this.#rememberAbandoned(queryId, suspect, rest.deadlineMs)
      if (!engineUnavailable.is(error)) throw error
      // The connection broke. After the end of the process it is known which query caused it.
      await Promise.race([this.#process.ended(), delay(500, undefined, { ref: false })])
      throw this.#overdueQueryId === queryId ? queryTimeout(limits.deadlineMs / 1000) : error
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

  #blame(queryId: string | undefined): void {
    this.#overdueQueryId = queryId
    for (const { key, forMs } of this.#refusals(queryId)) {
      const fields = { refused: key, queryId, forSeconds: Math.ceil(forMs / 1000) }
      this.#options.log.error(fields, 'refusing queries that crashed the engine')
    }
  }

  #refusals(overdueQueryId: string | undefined): Refusal[] {
    const abandoned = new Map(this.#abandoned.entries())
    // None of them runs in the next process.
    this.#abandoned.clear()
    if (overdueQueryId === undefined) {
      // Otherwise a caller could avoid the blame by leaving at once.
      const since = performance.now() - recentlyMs * this.#options.patience
      const recent = [...abandoned.values()].filter(({ leftAt }) => leftAt >= since)
      return this.#guard.suspect([...this.#running.values(), ...recent])
    }
    const guilty = this.#running.get(overdueQueryId) ?? abandoned.get(overdueQueryId)
    return guilty ? this.#guard.recordCrash(guilty) : []
  }

  #rememberAbandoned(queryId: string, suspect: Suspect, deadlineMs: number): void {
    const ttl = Math.ceil(deadlineMs + overdueWithinMs * this.#options.patience)
    this.#abandoned.set(queryId, { ...suspect, leftAt: performance.now() }, { ttl })
  }

  async close(): Promise<void> {
    await this.#process.stop()
    this.#client.close()
  }
}

/**
 * Includes the values, so that one caller's values do not refuse another's query, but not the time of the request, which
 * is another in each run of an endpoint. A hash, because it is logged.
 */
function keyOf({ sql, parameters = {} }: Statement): string {
  const { now: _, ...values } = parameters
  const hash = createHash('sha256').update(JSON.stringify([sql, values]))
  return `statement:${hash.digest('hex').slice(0, 32)}`
}
