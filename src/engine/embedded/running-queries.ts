import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../base/clock.ts'
import { callerRefused, engineUnavailable, queryCancelled } from '../../base/errors.ts'
import { grouped } from '../../base/grouped.ts'
import type { Log } from '../../base/log.ts'
import { sqlText } from '../../sql/names.ts'
import type { ClickHouseClient } from '../clickhouse-client.ts'
import type { Blame, Limits } from '../engine.ts'
import { queryText } from '../json-rows.ts'

interface RunningQueriesOptions {
  clock: Clock
  log: Log
  patience: number
  /** Stops queries. Undefined while the engine is away. */
  control: () => ClickHouseClient | undefined
  /** Ends the process, because a query ignores its time limit. */
  giveUp: (queryId: string) => void
  ended: () => Promise<void>
}

interface Abandoned {
  blame: readonly Blame[]
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
  /** Whom to blame, by query id; undefined for inserts and commands, which are never blamed. */
  readonly #running = new Map<string, readonly Blame[] | undefined>()
  /** Queries whose callers left. They may still be running, and crash the engine. */
  readonly #abandoned = new LRUCache<string, Abandoned>({ max: maxAbandoned })
  #timer: NodeJS.Timeout | undefined
  /** The query that ignored its time limit, while the process ends for it. */
  #overdueQueryId: string | undefined

  constructor(options: RunningQueriesOptions) {
    this.#options = options
    this.#guard = new CrashGuard({ clock: options.clock, ...blameBounds, maxEntries: 10_000 })
  }

  get size(): number {
    return this.#running.size
  }

  /** Throws if statements of this origin crashed the engine. */
  refuse({ blame = [] }: Pick<Limits, 'blame'>): void {
    const refusedForMs = this.#guard.refusedForMs(blame)
    if (refusedForMs > 0) throw callerRefused(Math.ceil(refusedForMs / 1000))
  }

  async run<T>(given: Limits, isQuery: boolean, send: (limits: Limits) => Promise<T>): Promise<T> {
    const blame = isQuery ? (given.blame ?? []) : undefined
    const queryId = randomUUID()
    const endsAt = performance.now() + given.deadlineMs
    this.#running.set(queryId, blame)
    try {
      return await send({ ...given, queryId, onOverdue: () => this.#giveUp(queryId) })
    } catch (error) {
      if (blame && queryCancelled.is(error)) this.#abandon(queryId, blame, endsAt)
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
    const blame = this.#running.get(queryId) ?? this.#abandoned.get(queryId)?.blame ?? []
    this.#overdueQueryId = queryId
    this.#report(this.#guard.recordCrash(blame), queryId)
    this.#options.giveUp(queryId)
  }

  /** Stops a query whose caller left. Closing its connection is not enough for some. */
  #abandon(queryId: string, blame: readonly Blame[], endsAt: number): void {
    const overdueAt = endsAt + graceMs * this.#options.patience
    this.#abandoned.set(queryId, { blame, overdueAt, checks: 0 })
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
    const abandoned = [...this.#abandoned.values()].map(({ blame }) => blame)
    const suspects = [...this.#running.values(), ...abandoned].filter((blame) => blame !== undefined)
    this.#report(this.#guard.suspect(suspects))
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

export const blameBounds = {
  windowMs: 24 * 3_600_000,
  /** How long the first refusal lasts. Each further crash within the window makes it `growth` times as long. */
  refusalMs: 300_000,
  growth: 4,
  maxRefusalMs: 6 * 3_600_000,
}

interface CrashGuardOptions extends Readonly<typeof blameBounds> {
  clock: Clock
  maxEntries: number
}

interface Refusal {
  /** The key of a blamed origin. */
  key: string
  forMs: number
}

interface CrashRecord {
  /** The weight is 1 if a query of the origin crashed the engine, and less if one was running then. */
  crashes: { at: number; weight: number }[]
  refusedUntil: number
}

/** Even a query that ran alone may not be the cause: the system may have killed the engine. */
const maxSharedWeight = 0.5

/** Refusals reach their maximum long before. */
const maxCrashesKept = 100

/**
 * Remembers the origins of queries that were running when the engine crashed. All queries of a blamed origin are refused
 * for a while, because changing a constant is enough to change the text of one.
 */
export class CrashGuard {
  readonly #options: CrashGuardOptions
  readonly #records: LRUCache<string, CrashRecord>

  constructor(options: CrashGuardOptions) {
    this.#options = options
    this.#records = new LRUCache({ max: options.maxEntries })
  }

  refusedForMs(blame: readonly Blame[]): number {
    if (this.#records.size === 0) return 0
    const now = this.#options.clock.now()
    return Math.max(0, ...blame.map(({ key }) => (this.#records.peek(key)?.refusedUntil ?? 0) - now))
  }

  /** Records a crash with a known cause. Returns what is refused from now on. */
  recordCrash(blame: readonly Blame[]): Refusal[] {
    return blame.flatMap((each) => this.#count(each, 1))
  }

  /** Records a crash that any of these queries may have caused: each key gets its share of the blame. */
  suspect(suspects: readonly (readonly Blame[])[]): Refusal[] {
    const blamed = grouped(suspects.flat(), ({ key }) => key)
    return [...blamed.values()].flatMap((same) =>
      this.#count(same[0] as Blame, Math.min(maxSharedWeight, same.length / suspects.length)),
    )
  }

  #count({ key, crashes: tolerated }: Blame, weight: number): Refusal[] {
    const { clock, windowMs, refusalMs, growth, maxRefusalMs } = this.#options
    const now = clock.now()
    const { crashes, refusedUntil } = this.#records.get(key) ?? { crashes: [], refusedUntil: 0 }
    const recent = [...crashes.filter(({ at }) => at > now - windowMs), { at: now, weight }]
    const excess = recent.reduce((sum, crash) => sum + crash.weight, 0) - tolerated
    const forMs = excess < 0 ? 0 : Math.min(maxRefusalMs, refusalMs * growth ** Math.floor(excess))
    this.#records.set(key, {
      crashes: recent.slice(-maxCrashesKept),
      refusedUntil: forMs > 0 ? now + forMs : refusedUntil,
    })
    return forMs > 0 ? [{ key, forMs }] : []
  }
}
