import { v7 as uuidv7 } from 'uuid'
import type { Timers } from '../../core/base/clock.ts'
import { rateLimited } from '../../core/base/errors.ts'
import type { Log } from '../../core/base/log.ts'
import { serviceLine } from '../../core/base/service-line.ts'
import type { Engine, InsertMark } from '../../core/engine/engine.ts'
import { outputJson, queryRows, writeJsonRows } from '../../core/engine/json-rows.ts'
import type { RequestRecord } from '../../core/http/request-record.ts'
import { type Counts, type DayCount, DayCounts, type QuotaEvent } from './day-counts.ts'
import { usedSql } from './own-tables.ts'
import { limitsDay, type Plan } from './plan.ts'
import type { JournaledCount, PendingCounts, UsageJournal } from './usage-journal.ts'

interface ProjectUsageOptions {
  engine: Engine
  time: Timers
  log: Pick<Log, 'warn'>
  planOf: (project: string) => Plan
  /** Whether other services count, too. */
  shared: boolean
  journal: UsageJournal
}

type StoreLines = (lines: Buffer, token: string) => Promise<void>

/** A request to an endpoint, or what stands for several. */
type CountedRequest = Pick<RequestRecord, 'project' | 'status' | 'cache' | 'engineMs'>

const limits = { deadlineMs: 30_000 }
const flushEveryMs = 700
/** Other services store what they counted within this time. */
const knownForMs = 2_000
const maxCounts = 50_000
const maxReports = 10_000
/** Projects whose totals one query reads. */
const maxRead = 1_000
/** Projects without entries for this time are not asked for again, until their next entries. */
const forgetAfterMs = 600_000

/**
 * Counts what each project uses in a UTC day, and stores the counts every second. Nothing waits for that: counts of acknowledged
 * entries are in a journal meanwhile.
 */
export class ProjectUsage {
  readonly counts = new DayCounts(maxCounts)
  readonly #options: ProjectUsageOptions
  /** Entries about limits that are stored with the next counts, each once for its token. */
  #reports: { line: Buffer; token: string }[] = []
  #storeReport: StoreLines | undefined
  #flushing: Promise<void> | undefined
  #cancel: (() => void) | undefined
  #failing = false
  #journalFails = false
  #stopped = false

  constructor(options: ProjectUsageOptions) {
    this.#options = options
  }

  /** Until it is called, reports wait. */
  storeReports(store: StoreLines): void {
    this.#storeReport = store
  }

  /** Keeps counts of lines in the journal while the engine stores them. */
  readonly pending = {
    begin: (mark: InsertMark, counts: readonly PendingCounts[]) => {
      this.#journal((journal) => journal.begin(mark, counts, this.#options.time.wall.now()))
    },
    end: (counts: readonly PendingCounts[]) => this.#journal((journal) => journal.append([], counts)),
  }

  /** Stores what an earlier process counted, or would have counted, before it was killed. */
  async open(): Promise<void> {
    const { engine, journal } = this.#options
    const { totals, inserts } = journal.read()
    for (const { mark, counts } of inserts) if (await engine.hasInserts?.(mark)) totals.push(...counts)
    await this.#insert(totals)
    journal.clear()
  }

  countOf(project: string): DayCount {
    this.counts.begin(this.#options.time.wall.now())
    return this.counts.of(project)
  }

  /** The projects with most entries today, as far as this service counted them since it started. */
  top(most: number): DayCount[] {
    this.counts.begin(this.#options.time.wall.now())
    const byEntries = (one: DayCount, other: DayCount) => other.entries - one.entries
    return this.counts.list().sort(byEntries).slice(0, most)
  }

  called({ project, status, cache, engineMs }: CountedRequest): void {
    // Whether a refused request is recorded depends on its way.
    if (project === '' || status === rateLimited.status) return
    const count = this.countOf(project)
    count.requests++
    if (cache === 'hit' || cache === 'stale') count.hits++
    count.engineMs += engineMs
    this.change(count)
  }

  /** Counts entries that were stored, on the day on which they were admitted. */
  stored(sent: PendingCounts['counted'], pending: PendingCounts = { counted: sent }): void {
    // The entries are those of an earlier request, which counted.
    const counted = pending.isRepeated ? [] : sent
    for (const { count, counts } of counted) {
      count.entries += counts.entries
      count.bytes += counts.bytes
      count.lastMs = this.#options.time.wall.now()
      this.change(count)
    }
    this.#journal((journal) =>
      journal.append(
        counted.map(({ count }) => count),
        [pending],
      ),
    )
  }

  #journal(work: (journal: UsageJournal) => void): void {
    try {
      work(this.#options.journal)
    } catch (error) {
      // The entries are stored, so their sender must not send them again.
      if (!this.#journalFails)
        this.#options.log.warn({ err: error }, 'usage could not be written to its journal')
      this.#journalFails = true
    }
  }

  change(count: DayCount): void {
    this.counts.change(count)
    this.#flushLater()
  }

  /** Says that a project used up a part of its day, so that an alert can tell people. */
  report(count: DayCount, event: QuotaEvent): void {
    this.change(count)
    if (this.#reports.length >= maxReports) return
    const { day, project, limit, percent } = event
    // Several services, or one that starts again, store it once.
    const token = JSON.stringify(['quota', day, project, limit, percent])
    this.#reports.push({ line: lineOf(event, this.#options.time.wall.now()), token })
  }

  /** Reads what others counted today, of projects that are new here, or had no entries for a while. */
  async know(counts: readonly DayCount[]): Promise<void> {
    const { shared, time } = this.#options
    const sinceMs = shared ? time.now() - knownForMs : -Infinity
    const unknown = counts.filter(({ others, readAtMs }) => others === undefined || readAtMs < sinceMs)
    for (let at = 0; at < unknown.length; at += maxRead) await this.#read(unknown.slice(at, at + maxRead))
  }

  /** Resolves when all counts so far are in the engine. Throws if they cannot be stored. */
  async flush(): Promise<void> {
    while (this.#flushing) await this.#flushing.catch(() => {})
    this.#flushing = this.#store().finally(() => {
      this.#flushing = undefined
    })
    await this.#flushing
  }

  /** With more projects than fit into memory, senders wait for their counts to be stored. */
  async room(): Promise<void> {
    if (this.counts.isFull) await this.flush()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel?.()
    await this.flush().catch((error) => this.#options.log.warn({ err: error }, 'usage was not stored'))
    this.#options.journal.close()
  }

  #flushLater(): void {
    if (this.#stopped) return
    this.#cancel ??= this.#options.time.after(flushEveryMs, () => {
      this.#cancel = undefined
      void this.#work()
    })
  }

  async #work(): Promise<void> {
    const { log, shared } = this.#options
    try {
      await this.flush()
      if (shared) await this.#follow()
      for (let next = this.#reports[0]; this.#storeReport && next; next = this.#reports[0]) {
        await this.#storeReport(next.line, next.token)
        // Another run may have stored it meanwhile.
        if (this.#reports[0] === next) this.#reports.shift()
      }
      this.#failing = false
    } catch (error) {
      if (!this.#failing) log.warn({ err: error }, 'usage of projects could not be stored; retrying')
      this.#failing = true
      this.#flushLater()
    }
  }

  async #store(): Promise<void> {
    const taken = this.counts.take()
    if (taken.length === 0) return
    const forgetEarlier = this.#options.journal.turn()
    try {
      await this.#insert(taken)
      forgetEarlier()
    } catch (error) {
      for (const count of taken) this.counts.change(count)
      throw error
    }
  }

  async #insert(counts: readonly JournaledCount[]): Promise<void> {
    if (counts.length === 0) return
    const rows = counts.map(({ day, project, writer, entries, bytes, requests, hits, engineMs, lastMs }) => ({
      day,
      project,
      writer,
      entries,
      bytes,
      requests,
      hits,
      engine_ms: engineMs,
      last_at: new Date(lastMs).toISOString().replace('T', ' ').slice(0, -1),
    }))
    const target = { table: '_project_usage', format: 'JSONEachRow' } as const
    await this.#options.engine.insert(target, writeJsonRows(rows), limits)
  }

  /** What other services counted meanwhile, of projects with a limit that are in use here. */
  async #follow(): Promise<void> {
    const { time, planOf } = this.#options
    const sinceMs = time.wall.now() - forgetAfterMs
    const used = this.counts.list().filter(({ others, lastMs, project }) => {
      return others !== undefined && lastMs >= sinceMs && limitsDay(planOf(project))
    })
    for (let at = 0; at < used.length; at += maxRead) await this.#read(used.slice(at, at + maxRead))
    if (used.length > 0) this.#flushLater()
  }

  async #read(counts: readonly DayCount[]): Promise<void> {
    const [first] = counts
    if (!first) return
    const sql =
      `${usedSql} WHERE day = toDate({day:String}) AND project IN ` +
      "(SELECT arrayJoin(JSONExtract({projects:String}, 'Array(String)'))) GROUP BY day, project, writer"
    const parameters = { day: first.day, projects: JSON.stringify(counts.map(({ project }) => project)) }
    type Row = Counts & { project: string; writer: string }
    const statement = { sql, parameters, settings: outputJson }
    const rows = await queryRows<Row>(this.#options.engine, statement, limits)
    const found = new Map<string, Row[]>()
    for (const row of rows) found.set(row.project, [...(found.get(row.project) ?? []), row])
    const readAtMs = this.#options.time.now()
    for (const count of counts) {
      count.readAtMs = readAtMs
      const others = (found.get(count.project) ?? []).filter(({ writer }) => writer !== count.writer)
      count.others = {
        entries: others.reduce((sum, { entries }) => sum + entries, 0),
        bytes: others.reduce((sum, { bytes }) => sum + bytes, 0),
      }
    }
  }
}

function lineOf({ project, ...event }: QuotaEvent, nowMs: number): Buffer {
  const message = `Project ${project} has used ${event.percent} % of ${event.limit} of its plan ${event.plan}`
  const metadata = { kind: 'quota', ...event }
  return Buffer.from(serviceLine({ project, id: uuidv7({ msecs: nowMs }), atMs: nowMs, message, metadata }))
}
