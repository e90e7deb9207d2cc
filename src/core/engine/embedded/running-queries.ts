import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { atMost } from '../../base/cache-limit.ts'
import type { Clock } from '../../base/clock.ts'
import { callerRefused, engineUnavailable, queryCancelled, queryRefused } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { sqlText } from '../../sql/names.ts'
import type { ClickHouseClient } from '../clickhouse-client.ts'
import type { Blame, Limits, Statement } from '../engine.ts'
import { queryText } from '../json-rows.ts'
import { threadTimes } from './thread-times.ts'

interface RunningQueriesOptions {
  clock: Clock
  log: Log
  patience: number
  /** Stops queries. Undefined while the engine is away. */
  control: () => ClickHouseClient | undefined
  /** The engine process. Undefined while the engine is away. */
  pid: () => number | undefined
  /** Ends the process, because a query ignores its time limit. */
  giveUp: (queryId: string) => void
  ended: () => Promise<void>
}

/** A query that may crash the engine, and whom to blame for it. */
interface Suspect {
  statement: Statement
  blame: readonly Blame[]
}

interface Abandoned extends Suspect {
  /** When its time limit is over. */
  endsAt: number
  /** How often it was looked for and not found. */
  checks: number
  /** The processor time of its threads when it was first seen after its time limit. */
  timesAtEnd?: ReadonlyMap<string, number>
}

/** How long after its time limit a query counts as late. */
export const graceMs = 1_000

/**
 * The process ends for a late query once a thread has used so much processor time since the time limit. A query that stops
 * between blocks of rows needs less, however long it waits for a processor.
 */
const ignoredMs = 500

/** The process ends for a query that is so late, whatever it does, and nobody in particular is blamed. */
const maxLateMs = 30_000

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
  readonly #abandoned = new LRUCache<string, Abandoned>(atMost(maxAbandoned))
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
    for (const each of blame) {
      const blamedForMs = this.#guard.blamedForMs([each])
      if (blamedForMs === 0) continue
      const error = each.key.startsWith(blamedStatement) ? queryRefused : callerRefused
      throw error(Math.ceil(blamedForMs / 1000))
    }
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
      const onOverdue = () => {
        if (suspect) return this.#abandon(queryId, suspect, endsAt)
        // Nothing of a command or an insert can be checked while it runs, and nobody is blamed for it.
        this.#overdueQueryId = queryId
        this.#options.giveUp(queryId)
      }
      const result = await send({ ...given, queryId, onOverdue })
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
  #giveUp(queryId: string, suspect: Suspect): void {
    this.#overdueQueryId = queryId
    this.#report(this.#guard.recordCrash(keyed(suspect)), queryId)
    this.#options.giveUp(queryId)
  }

  /** Stops a query whose caller left or was told that its time is over. Closing its connection is not enough for some. */
  #abandon(queryId: string, suspect: Suspect, endsAt: number): void {
    this.#abandoned.set(queryId, { ...suspect, endsAt, checks: 0 })
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
      const sql = `SELECT query_id, arrayStringConcat(thread_ids, ' ') FROM system.processes WHERE ${among}`
      const lines = (await queryText(control, { sql }, limits)).split('\n')
      const threadsOf = new Map(lines.map((line) => line.split('\t') as [string, string]))
      for (const id of ids) this.#checkAbandoned(id, threadsOf.get(id)?.split(' '))
    } catch {
      // The process ends, or is very busy.
    }
    if (this.#abandoned.size === 0) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#stopAbandoned(), lookForAbandonedMs)
    this.#timer.unref()
  }

  /** Undefined threads: it does not run, or not yet, because the first check may come before the query is registered. */
  #checkAbandoned(id: string, threadIds: readonly string[] | undefined): void {
    const abandoned = this.#abandoned.peek(id)
    if (!abandoned) return
    if (threadIds === undefined) {
      if (abandoned.checks++ > 0) this.#abandoned.delete(id)
      return
    }
    const { pid, patience, giveUp } = this.#options
    const lateMs = (performance.now() - abandoned.endsAt) / patience
    if (lateMs < 0) return
    const times = threadTimes(pid() ?? 0, threadIds)
    abandoned.timesAtEnd ??= times ?? new Map()
    if (lateMs < graceMs) return
    if (times === undefined || mostUsedMs(abandoned.timesAtEnd, times) / patience >= ignoredMs) {
      this.#giveUp(id, abandoned)
    } else if (lateMs >= maxLateMs) giveUp(id)
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

/** The processor time that the busiest thread has used meanwhile. Threads that began later count in full. */
function mostUsedMs(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): number {
  return Math.max(0, ...[...after].map(([id, ms]) => ms - (before.get(id) ?? 0)))
}

function keyed({ statement, blame }: Suspect): KeyedSuspect {
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

interface CrashGuardOptions {
  clock: Clock
  /** Number of crashes within the window after which a statement is refused. */
  crashes: number
  windowMs: number
  refusalMs: number
  blamed: typeof blamedBounds
  maxEntries: number
}

const statementBounds = { crashes: 3, windowMs: 60_000, refusalMs: 600_000 }

export const blamedBounds = {
  windowMs: 24 * 3_600_000,
  /** How long the first refusal lasts. Each further crash within the window makes it `growth` times as long. */
  refusalMs: 300_000,
  growth: 4,
  maxRefusalMs: 6 * 3_600_000,
}

/** Crashes tolerated a day of a token with all its sessions: more than those of one project can cause. */
const toleratedOfToken = 8

/** Blames a customer, who is one project of a token, and the whole token if it causes more crashes than one can. */
export function callerBlame(caller: string, project: string | undefined, work: string, crashes: number) {
  const customer = project === undefined ? caller : `${caller} project:${project}`
  return [
    { key: `caller:${customer}${work}`, crashes },
    { key: `token:${caller}${work}`, crashes: crashes + toleratedOfToken - 1 },
  ]
}

/** Blames the SQL of a customer, whatever its values are. A hash, because it is logged. */
export function statementBlame(caller: string, project: string | undefined, sql: string, crashes: number) {
  const text = createHash('sha256')
    .update(JSON.stringify([caller, project, sql]))
    .digest('hex')
  return { key: `${blamedStatement}${text.slice(0, 32)}`, crashes }
}

const blamedStatement = 'sql:'

interface KeyedSuspect {
  /** Equal for equal SQL with equal values. */
  statement: string
  blame: readonly Blame[]
}

interface Refusal {
  /** A statement, or the key of a blamed origin. */
  key: string
  forMs: number
}

interface CrashRecord {
  /** The weight is 1 for the statement that crashed the engine, and less for one that was running then. */
  crashes: { at: number; weight: number }[]
  refusedUntil: number
}

/** Even a statement that ran alone may not be the cause: the system may have killed the engine. */
const maxSharedWeight = 0.5

/** Refusals reach their maximum long before. */
const maxCrashesKept = 100

/**
 * Remembers which statements were running when the engine crashed, and their origins. A statement that was running at
 * each of several crashes is refused for a while. So are all statements of a blamed origin, because changing a constant
 * is enough to change the text.
 */
export class CrashGuard {
  readonly #options: CrashGuardOptions
  readonly #statements: LRUCache<string, CrashRecord>
  readonly #blamed: LRUCache<string, CrashRecord>

  constructor(options: CrashGuardOptions) {
    this.#options = options
    this.#statements = new LRUCache(atMost(options.maxEntries))
    this.#blamed = new LRUCache(atMost(options.maxEntries))
  }

  /** Whether no statement is suspected, so that none needs a key. */
  get isQuiet(): boolean {
    return this.#statements.size === 0
  }

  refusedForMs(statement: string): number {
    return this.#leftMs(this.#statements.peek(statement))
  }

  blamedForMs(blame: readonly Blame[]): number {
    if (this.#blamed.size === 0) return 0
    return Math.max(0, ...blame.map(({ key }) => this.#leftMs(this.#blamed.peek(key))))
  }

  /** Records a crash with a known cause. Returns what is refused from now on. */
  recordCrash({ statement, blame }: KeyedSuspect): Refusal[] {
    return [...this.#countStatements([statement]), ...this.#countBlame(blame, 1)]
  }

  /** Records a crash that any of these may have caused: each key gets its share of the blame. */
  suspect(suspects: readonly KeyedSuspect[]): Refusal[] {
    const blamed = new Map<string, { each: Blame; count: number }>()
    for (const each of suspects.flatMap(({ blame }) => blame)) {
      blamed.set(each.key, { each, count: (blamed.get(each.key)?.count ?? 0) + 1 })
    }
    return [
      ...this.#countStatements(suspects.map(({ statement }) => statement)),
      ...[...blamed.values()].flatMap(({ each, count }) =>
        this.#countBlame([each], Math.min(maxSharedWeight, count / suspects.length)),
      ),
    ]
  }

  /** Clears a statement that finished, but not its origins: they may have sent the cause, too. */
  clear(statement: string): void {
    this.#statements.delete(statement)
  }

  #countStatements(statements: readonly string[]): Refusal[] {
    const bounds = { ...this.#options, growth: 1, maxRefusalMs: this.#options.refusalMs }
    return [...new Set(statements)].flatMap((key) => this.#count(this.#statements, key, 1, bounds))
  }

  #countBlame(blame: readonly Blame[], weight: number): Refusal[] {
    const { blamed } = this.#options
    return blame.flatMap(({ key, crashes }) => this.#count(this.#blamed, key, weight, { ...blamed, crashes }))
  }

  #count(
    records: LRUCache<string, CrashRecord>,
    key: string,
    weight: number,
    { crashes, windowMs, refusalMs, growth, maxRefusalMs }: typeof blamedBounds & { crashes: number },
  ): Refusal[] {
    const now = this.#options.clock.now()
    const record = records.get(key) ?? { crashes: [], refusedUntil: 0 }
    const recent = record.crashes.filter(({ at }) => at > now - windowMs)
    record.crashes = [...recent, { at: now, weight }].slice(-maxCrashesKept)
    records.set(key, record)
    const excess = record.crashes.reduce((sum, crash) => sum + crash.weight, 0) - crashes
    if (excess < 0) return []
    const forMs = Math.min(maxRefusalMs, refusalMs * growth ** Math.floor(excess))
    record.refusedUntil = now + forMs
    return [{ key, forMs }]
  }

  #leftMs(record: CrashRecord | undefined): number {
    return record ? Math.max(0, record.refusedUntil - this.#options.clock.now()) : 0
  }
}
