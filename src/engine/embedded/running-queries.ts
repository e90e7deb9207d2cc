import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../base/clock.ts'
import { callerRefused, engineUnavailable, queryCancelled, queryRefused } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { sqlText } from '../../sql/names.ts'
import type { ClickHouseClient } from '../clickhouse-client.ts'
import type { Blame, Limits, Statement } from '../engine.ts'
import { queryText } from '../json-rows.ts'
import { blamedBounds, CrashGuard, type Refusal, statementBounds } from './crash-guard.ts'

interface RunningQueriesOptions {
  clock: Clock
  log: Log
  /** Factor for all timeouts of the engine process. */
  patience: number
  /** Stops queries. Undefined while the engine is away. */
  control: () => ClickHouseClient | undefined
  /** Ends the process, because a query ignores its time limit. */
  giveUp: (queryId: string) => void
  /** Resolves when the process has ended. */
  ended: () => Promise<void>
}

/** A query that may crash the engine, and whom to blame for it. */
interface Suspect {
  statement: Statement
  blame: readonly Blame[]
}

interface Abandoned extends Suspect {
  /** When the process is ended if the query still runs. */
  overdueAt: number
  /** How often it was looked for and not found. */
  checks: number
}

/** How long after its time limit a query ends the process. */
export const graceMs = 1_000

const maxAbandoned = 1_000
const lookForAbandonedMs = 250
const limits = { deadlineMs: 30_000 }

/** The statements that run: stops those whose callers left, and finds out which of them ended the engine. */
export class RunningQueries {
  readonly #options: RunningQueriesOptions
  readonly #guard: CrashGuard
  /** By query id; undefined for inserts and commands, which are never blamed. */
  readonly #running = new Map<string, Suspect | undefined>()
  /** Queries whose callers left. They may still be running, and crash the engine. */
  readonly #abandoned = new LRUCache<string, Abandoned>({ max: maxAbandoned })
  #timer: NodeJS.Timeout | undefined
  /** The query that ignored its time limit, while the process ends for it. */
  #overdueQueryId: string | undefined

  constructor(options: RunningQueriesOptions) {
    this.#options = options
    const { clock, patience } = options
    const windowMs = statementBounds.windowMs * patience
    const bounds = { ...statementBounds, windowMs, blamed: blamedBounds, maxEntries: 10_000 }
    this.#guard = new CrashGuard({ clock, ...bounds })
  }

  get size(): number {
    return this.#running.size
  }

  /** Throws if statements of this origin crashed the engine. */
  refuse({ blame = [] }: Pick<Limits, 'blame'>, statement?: Statement): void {
    const blamedForMs = this.#guard.blamedForMs(blame)
    if (blamedForMs > 0) throw callerRefused(Math.ceil(blamedForMs / 1000))
    if (statement === undefined || this.#guard.isQuiet) return
    const refusedForMs = this.#guard.refusedForMs(keyOf(statement))
    if (refusedForMs > 0) throw queryRefused(Math.ceil(refusedForMs / 1000))
  }

  async run<T>(
    given: Limits,
    statement: Statement | undefined,
    send: (limits: Limits) => Promise<T>,
  ): Promise<T> {
    const suspect = statement && { statement, blame: given.blame ?? [] }
    const queryId = randomUUID()
    const endsAt = performance.now() + given.deadlineMs
    this.#running.set(queryId, suspect)
    try {
      const result = await send({ ...given, queryId, onOverdue: () => this.#giveUp(queryId) })
      if (suspect && !this.#guard.isQuiet) this.#guard.clear(keyOf(suspect.statement))
      return result
    } catch (error) {
      if (suspect && queryCancelled.is(error)) this.#abandon(queryId, suspect, endsAt)
      // If the process ended, the query is a suspect until the end is noticed.
      if (engineUnavailable.is(error)) {
        await Promise.race([this.#options.ended(), delay(500, undefined, { ref: false })])
      }
      throw error
    } finally {
      this.#running.delete(queryId)
    }
  }

  /** The query ignored its time limit and keeps its threads, so the process must end. */
  #giveUp(queryId: string): void {
    const suspect = this.#running.get(queryId) ?? this.#abandoned.get(queryId)
    this.#overdueQueryId = queryId
    if (suspect) this.#report(this.#guard.recordCrash(keyed(suspect)), queryId)
    this.#options.giveUp(queryId)
  }

  /** Stops a query whose caller left. Closing its connection is not enough for some. */
  #abandon(queryId: string, suspect: Suspect, endsAt: number): void {
    const overdueAt = endsAt + graceMs * this.#options.patience
    this.#abandoned.set(queryId, { ...suspect, overdueAt, checks: 0 })
    void this.#stopAbandoned()
  }

  async #stopAbandoned(): Promise<void> {
    clearTimeout(this.#timer)
    const ids = [...this.#abandoned.keys()]
    const control = this.#options.control()
    if (ids.length === 0 || control === undefined) return
    const among = `query_id IN (${ids.map(sqlText).join(', ')})`
    try {
      await control.command({ sql: `KILL QUERY WHERE ${among} ASYNC` }, limits)
      const sql = `SELECT query_id FROM system.processes WHERE ${among}`
      const left = new Set((await queryText(control, { sql }, limits)).split('\n'))
      for (const id of ids) this.#checkAbandoned(id, left.has(id))
    } catch {
      // The process ends, or is very busy.
    }
    if (this.#abandoned.size === 0) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#stopAbandoned(), lookForAbandonedMs)
    this.#timer.unref()
  }

  /** The first check may come before the query is registered. */
  #checkAbandoned(id: string, isRunning: boolean): void {
    const abandoned = this.#abandoned.peek(id)
    if (!abandoned) return
    if (!isRunning && abandoned.checks++ > 0) this.#abandoned.delete(id)
    if (isRunning && performance.now() > abandoned.overdueAt) this.#giveUp(id)
  }

  /** Blames those who may have ended a process that was not ended for a query that is known. */
  onCrash(): void {
    if (this.#overdueQueryId !== undefined) return
    // Otherwise a caller could avoid the blame by leaving at once.
    const suspects = [...this.#running.values(), ...this.#abandoned.values()]
    this.#report(this.#guard.suspect(suspects.filter((each) => each !== undefined).map(keyed)))
  }

  #report(refusals: readonly Refusal[], queryId?: string): void {
    for (const { key, forMs } of refusals) {
      const fields = { refused: key, queryId, forSeconds: Math.ceil(forMs / 1000) }
      this.#options.log.error(fields, 'refusing queries that crashed the engine')
    }
  }

  /** Nothing of the last process runs in the next one. */
  reset(): void {
    clearTimeout(this.#timer)
    this.#abandoned.clear()
    this.#overdueQueryId = undefined
  }
}

function keyed({ statement, blame }: Suspect) {
  return { statement: keyOf(statement), blame }
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
