import { randomUUID } from 'node:crypto'
import type { Timers } from '../../core/base/clock.ts'
import { rateLimited, resourceNotFound } from '../../core/base/errors.ts'
import type { Log } from '../../core/base/log.ts'
import { repeat } from '../../core/base/repeat.ts'
import { followEveryMs, isNewSql } from '../../core/catalog/own-tables.ts'
import { projectPathsOf } from '../../core/catalog/reserved-sources.ts'
import type { Topology } from '../../core/engine/cluster/topology.ts'
import type { Engine } from '../../core/engine/engine.ts'
import { queryRows, writeJsonRows } from '../../core/engine/json-rows.ts'
import {
  beginRemoval,
  type Cutoff,
  countRows,
  removeRows,
  storedBefore,
  tableIds,
  tablesRemoving,
} from '../../core/engine/removed-rows.ts'
import type { HiddenRows } from '../../core/sql/isolation.ts'
import { sqlText } from '../../core/sql/names.ts'
import { isoText } from '../../shared/timestamps.ts'
import {
  type ErasedRows,
  type ErasedSource,
  type Erasure,
  erasedSql,
  readErasure,
  storedErasureShape,
} from './erasure.ts'
import type { ErasureFile } from './erasure-file.ts'

interface ErasuresOptions {
  engine: Engine
  time: Timers
  log: Pick<Log, 'info' | 'warn'>
  topology: () => Topology
  /** Whether other services use the same engine. */
  shared: boolean
  /** Finds the name of a source by a name or an alias. */
  sourceOf: (name: string) => string
  sources: () => readonly ErasedSource[]
  /** Erasures outside of the engine, which a backup of it does not take back. */
  file: ErasureFile
  /** Lets no entries of these projects be stored until what it returns is called. Resolves when earlier ones are acknowledged. */
  holdEntries: (projects: ReadonlySet<string>) => Promise<() => void>
  /** Removes the project's rows of tables that users fill. Returns false if this build lacks the feature of tables that are there. */
  eraseTables: (project: string) => Promise<boolean>
}

const limits = { deadlineMs: 120_000 }
const pollEveryMs = 250
const longestPauseMs = 30_000
const maxRunning = 50
export const maxListed = 1_000
/** Erasures that are counted, and whose entries are removed, by the same statements. */
const acceptedAtOnce = 16
const keysTable = '_idempotency'
/** Others hide the entries within this time, and drop what they computed from them. */
const othersFollowMs = 3_000

interface ConcernedTable {
  table: string
  /** Empty for a table of the service. */
  sourceId: string
  /** Condition for its rows. */
  sql: string
}

interface CountedErasure extends Pick<Erasure, 'entries' | 'to' | 'everything'> {
  /** Those that have such rows. */
  tables: ConcernedTable[]
}

interface NewErasure {
  rows: ErasedRows
  by: string
  /** Called before anything is stored. */
  before: (erasure: Erasure) => Promise<void>
  resolve: (erasure: Erasure) => void
  reject: (error: unknown) => void
}

interface ErasureHooks {
  /** Stores what is about to become entries, as far as it waits in memory. */
  flush: () => Promise<void>
  /** Forgets results and entries in memory of a project that are of these sources. */
  onErase: (erasure: Erasure, sources: readonly string[]) => Promise<void>
  /** Resolves when all queries have ended that run now. */
  queriesEnded: () => Promise<void>
}

/**
 * Erases entries of a project. What was acknowledged before an erasure is accepted is hidden from every query, removed from the disk,
 * and counted until there is nothing left on any replica. What is acknowledged later is not touched. Each erasure is in a file before
 * anything is removed, so that another start continues it.
 */
export class Erasures {
  readonly #options: ErasuresOptions
  readonly #byId = new Map<string, Erasure>()
  /** Rows that nobody may see anymore; undefined if there are none. */
  hidden: HiddenRows | undefined
  #readUntil = '2000-01-01 00:00:00'
  #hooks: ErasureHooks = { flush: async () => {}, onErase: async () => {}, queriesEnded: async () => {} }
  #waiting: NewErasure[] = []
  #accepting: Promise<void> | undefined
  #working: Promise<void> | undefined
  #following: ReturnType<typeof repeat> | undefined
  #cancelPause: (() => void) | undefined
  #stopped = false

  constructor(options: ErasuresOptions) {
    this.#options = options
  }

  /** Sets the steps of an erasure outside of this class. */
  follow(hooks: ErasureHooks): void {
    this.#hooks = hooks
  }

  /** A source may have been deleted, or have its projects elsewhere. */
  async sourcesChanged(): Promise<void> {
    if (this.hidden) await this.#hide()
  }

  /** Hides what is not erased yet before the first request, also what came back with an old backup. */
  async open(): Promise<void> {
    await this.#read()
    const { file, shared, time, log } = this.#options
    for (const erasure of await file.read()) {
      if (!this.#byId.has(erasure.id)) await this.#store(asUnaccepted(erasure))
    }
    await this.#checkCutoffs()
    // Also if the file was lost.
    for (const erasure of this.#byId.values()) await file.add(erasure)
    await this.#hide()
    // Before the first request, so that its entries are later ones.
    await this.#acceptStored().catch((error) => {
      log.warn({ err: error }, 'erasures cannot continue yet; retrying')
    })
    await this.#eraseLeftRows()
    this.#work()
    if (!shared) return
    this.#following = repeat({
      time,
      everyMs: followEveryMs,
      work: () => this.#follow(),
      onFailure: (error) => log.warn({ err: error }, 'cannot read the erasures of other services'),
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelPause?.()
    await this.#following?.stop()
    await this.#accepting
    await this.#working
  }

  /** The newest first. */
  list(): Erasure[] {
    const all = [...this.#byId.values()]
    return all.sort((one, other) => (one.created_at > other.created_at ? -1 : 1)).slice(0, maxListed)
  }

  /** Projects of which everything was erased. */
  erasedProjects(): ReadonlySet<string> {
    const whole = [...this.#byId.values()].filter(({ everything }) => everything)
    return new Set(whole.map(({ project }) => project))
  }

  /** The id of the last erasure of everything that a project had. */
  lastOf(project: string): string | undefined {
    const whole = [...this.#byId.values()].filter((each) => each.everything && each.project === project)
    return whole.reduce<Erasure | undefined>((last, each) => {
      return last === undefined || each.created_at > last.created_at ? each : last
    }, undefined)?.id
  }

  get(id: string): Erasure {
    const found = this.#byId.get(id.toLowerCase())
    if (!found) throw resourceNotFound(`No erasure has the id "${id}"`)
    return found
  }

  /** The condition for keys of requests that are being removed. */
  hiddenKeys(): string | undefined {
    return this.hidden?.(keysTable, undefined)
  }

  read(body: unknown) {
    const { dry_run, ...rows } = readErasure(body)
    return {
      dry_run,
      rows: { ...rows, source: rows.source === null ? null : this.#options.sourceOf(rows.source) },
    }
  }

  async count(rows: ErasedRows): Promise<{ entries: number; to: string }> {
    const [counted] = await this.#count([rows])
    const { entries, to } = counted as { entries: number; to: string }
    return { entries, to }
  }

  /** Begins an erasure. Resolves once it is stored and its entries are hidden here. */
  begin(rows: ErasedRows, by: string, before: NewErasure['before']): Promise<Erasure> {
    if (this.#running().length + this.#waiting.length >= maxRunning) {
      throw rateLimited(`At most ${maxRunning} erasures can wait. Try again when some are done.`, 10)
    }
    const accepted = new Promise<Erasure>((resolve, reject) => {
      this.#waiting.push({ rows, by, before, resolve, reject })
    })
    this.#accepting ??= this.#acceptWaiting().finally(() => {
      this.#accepting = undefined
    })
    return accepted
  }

  /** Those that are requested while others are being accepted share the next statements. */
  async #acceptWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, acceptedAtOnce)
      await this.#acceptNew(batch).catch((error) => {
        for (const { reject } of batch) reject(error)
      })
      this.#work()
    }
  }

  async #acceptNew(batch: readonly NewErasure[]): Promise<void> {
    await this.#hooks.flush()
    const accepted: [NewErasure, Erasure][] = []
    const release = await this.#options.holdEntries(new Set(batch.map(({ rows }) => rows.project)))
    try {
      const counts = await this.#count(batch.map(({ rows }) => rows))
      const listed: [NewErasure, Erasure, ConcernedTable[]][] = []
      for (const [at, each] of batch.entries()) {
        const { tables, ...counted } = counts[at] as CountedErasure
        const created_at = new Date(this.#options.time.wall.now()).toISOString()
        const begun = { id: randomUUID(), ...each.rows, ...counted, created_at, created_by: each.by }
        const erasure: Erasure = {
          ...begun,
          cutoffs: null,
          rows_erased: false,
          rows_left: 'none',
          done_at: null,
        }
        try {
          await each.before(erasure)
          await this.#options.file.add(erasure)
          listed.push([each, erasure, tables])
        } catch (error) {
          each.reject(error)
        }
      }
      const begun = listed.map(([, erasure, tables]) => ({ erasure, tables }))
      const erasures = await this.#beginRemovals(begun).catch((error) => {
        // The file has them, so they are accepted as soon as the engine is back.
        for (const { erasure } of begun) this.#byId.set(erasure.id, erasure)
        return this.#hide(...begun.map(({ erasure }) => erasure)).then(() => Promise.reject(error))
      })
      for (const [at, [each]] of listed.entries()) accepted.push([each, erasures[at] as Erasure])
      await this.#hide(...erasures)
    } finally {
      release()
    }
    for (const [{ resolve, reject }, erasure] of accepted)
      await this.#eraseRows(erasure).then(resolve, reject)
  }

  /** Begins to remove the rows of erasures of which nobody knows what they had, such as those of a file. */
  async #acceptStored(): Promise<void> {
    const unaccepted = this.#running().filter(({ cutoffs }) => cutoffs === null)
    for (let at = 0; at < unaccepted.length; at += acceptedAtOnce) {
      const some = unaccepted.slice(at, at + acceptedAtOnce)
      const release = await this.#options.holdEntries(new Set(some.map(({ project }) => project)))
      try {
        const counts = await this.#count(some)
        await this.#beginRemovals(
          some.map((erasure, place) => ({ erasure, tables: (counts[place] as CountedErasure).tables })),
        )
      } finally {
        release()
      }
    }
    if (unaccepted.length > 0) await this.#hide()
  }

  /** Of several erasures with one statement for each table. Later rows are not among those that are removed. */
  async #beginRemovals(
    begun: readonly { erasure: Erasure; tables: readonly ConcernedTable[] }[],
  ): Promise<Erasure[]> {
    const { engine, topology } = this.#options
    const conditions = new Map<string, string[]>()
    for (const { table, sql } of begun.flatMap(({ tables }) => tables)) {
      conditions.set(table, [...(conditions.get(table) ?? []), `(${sql})`])
    }
    const cutoffs = new Map<string, Cutoff>()
    for (const [table, terms] of conditions) {
      cutoffs.set(table, await beginRemoval(engine, topology(), table, terms.join(' OR ')))
    }
    const accepted = begun.map(({ erasure, tables }) => {
      const own = tables.map(({ table, sourceId }) => {
        return [table, { ...(cutoffs.get(table) as Cutoff), source_id: sourceId }]
      })
      return { ...erasure, cutoffs: Object.fromEntries(own) }
    })
    await this.#store(...accepted)
    return accepted
  }

  /** Rows of tables that users fill have neither a source nor a time. */
  async #eraseRows(erasure: Erasure): Promise<Erasure> {
    const { everything, rows_erased, rows_left } = erasure
    if (!everything || (rows_erased && rows_left !== 'left')) return erasure
    const areErased = await this.#options.eraseTables(erasure.project)
    if (!areErased && rows_left === 'left') return erasure
    const left = !areErased ? 'left' : rows_left === 'left' ? 'erased' : 'none'
    const erased: Erasure = { ...erasure, rows_erased: true, rows_left: left }
    await this.#store(erased)
    return erased
  }

  /** Nobody could change these rows since, so all of them are older than the erasure. */
  async #eraseLeftRows(): Promise<void> {
    for (const erasure of this.#byId.values()) {
      if (erasure.done_at !== null && erasure.rows_left === 'left') await this.#eraseRows(erasure)
    }
  }

  /** Tables that are others than when the erasure was accepted have no rows of that time. */
  #tables(erasure: ErasedRows & Partial<Pick<Erasure, 'cutoffs' | 'everything'>>): ConcernedTable[] {
    const sources = this.#options.sources()
    const { cutoffs, everything, project } = erasure
    const all = sources.flatMap(({ id, name: table }) => {
      const sql = erasedSql(erasure, table, sources)
      return sql === undefined ? [] : [{ table, sourceId: id, sql }]
    })
    // Keys of requests stay if some of their entries do: otherwise these could be stored twice.
    if (everything) all.push({ table: keysTable, sourceId: '', sql: `project = ${sqlText(project)}` })
    if (!cutoffs) return all
    return all.flatMap(({ table, sourceId, sql }) => {
      const cutoff = cutoffs[table]
      if (cutoff?.source_id !== sourceId) return []
      return [{ table, sourceId, sql: `(${sql}) AND ${storedBefore(cutoff)}` }]
    })
  }

  /** What each erasure concerns. Without an end, that is also what is ahead of the clock. */
  async #count(erasures: readonly ErasedRows[]): Promise<CountedErasure[]> {
    const { engine, topology, time } = this.#options
    const concerned = erasures.map((rows) => {
      const { source, from, to, ids } = rows
      const everything = [source, from, to, ids].every((part) => part === null)
      return { everything, tables: this.#tables({ ...rows, everything }) }
    })
    const byTable = new Map<string, string[]>()
    const placeOf = new Map<ConcernedTable, number>()
    for (const each of concerned.flatMap(({ tables }) => tables)) {
      const terms = byTable.get(each.table) ?? []
      byTable.set(each.table, terms)
      placeOf.set(each, terms.push(each.sql) - 1)
    }
    const names = [...byTable.keys()]
    const conditions = [...byTable].map(([table, terms]) => ({ table, conditions: terms }))
    const stored = await countRows(engine, topology(), conditions, limits)
    // Replicas have the same rows, and shards may differ in how many they have.
    const shown =
      topology().cluster === undefined
        ? stored
        : await countRows(engine, topology(), conditions, limits, 'one')
    const none = { rows: 0, newestMicros: 0n }
    return concerned.map(({ everything, tables }, at) => {
      const countIn = (counts: typeof stored, each: ConcernedTable) =>
        counts[names.indexOf(each.table)]?.[placeOf.get(each) ?? 0] ?? none
      const entryTables = tables.filter(({ table }) => table !== keysTable)
      let newest = BigInt(time.wall.now()) * 1000n
      for (const each of entryTables) {
        const { rows, newestMicros } = countIn(stored, each)
        if (rows > 0 && newestMicros >= newest) newest = newestMicros + 1n
      }
      return {
        entries: entryTables.reduce((sum, each) => sum + countIn(shown, each).rows, 0),
        to: erasures[at]?.to ?? isoText(newest),
        everything,
        tables: tables.filter((each) => countIn(stored, each).rows > 0),
      }
    })
  }

  #running(): Erasure[] {
    return [...this.#byId.values()].filter(({ done_at }) => done_at === null)
  }

  /** Compiled once for each change of what is hidden, since every query asks for it. */
  async #hide(...added: readonly Erasure[]): Promise<void> {
    const byTable = new Map<string, { sql: string; project: string | undefined }[]>()
    for (const erasure of this.#running()) {
      for (const { table, sql } of this.#tables(erasure)) {
        // An entry of one project can be about another.
        const project = projectPathsOf(table).length > 0 ? undefined : erasure.project
        byTable.set(table, [...(byTable.get(table) ?? []), { sql: `(${sql})`, project }])
      }
    }
    const all = new Map(
      [...byTable].map(([table, terms]) => [table, terms.map(({ sql }) => sql).join(' OR ')]),
    )
    this.hidden =
      all.size === 0
        ? undefined
        : (table, of) => {
            if (of === undefined) return all.get(table)
            const own = byTable.get(table)?.filter(({ project = of }) => project === of) ?? []
            return own.length === 0 ? undefined : own.map(({ sql }) => sql).join(' OR ')
          }
    for (const erasure of added) await this.#forget(erasure)
  }

  #forget(erasure: Erasure): Promise<void> {
    return this.#hooks.onErase(
      erasure,
      this.#tables(erasure).map(({ table }) => table),
    )
  }

  async #store(...erasures: readonly Erasure[]): Promise<void> {
    if (erasures.length === 0) return
    const rows = erasures.map((each) => {
      return { id: each.id, sequence: sequenceOf(each), body: JSON.stringify(each) }
    })
    const target = { table: '_erasures', columns: ['id', 'sequence', 'body'], format: 'JSONEachRow' } as const
    await this.#options.engine.insert(target, writeJsonRows(rows), limits)
    for (const erasure of erasures) this.#byId.set(erasure.id, erasure)
  }

  /** Returns those that are new here. */
  async #read(): Promise<Erasure[]> {
    const sql =
      'SELECT argMax(e.body, e.sequence) AS body, toString(max(e.at)) AS read_at FROM _erasures AS e ' +
      `WHERE ${isNewSql('e.at')} GROUP BY id ORDER BY read_at`
    const statement = { sql, parameters: { since: this.#readUntil } }
    const rows = await queryRows<{ body: string; read_at: string }>(this.#options.engine, statement, limits)
    this.#readUntil = rows.at(-1)?.read_at ?? this.#readUntil
    const erasures = rows.map(({ body }) => storedErasureShape.parse(JSON.parse(body)))
    const added = erasures.filter(({ id }) => !this.#byId.has(id))
    for (const erasure of erasures) {
      // The row may be older than what this service stored meanwhile.
      const current = this.#byId.get(erasure.id)
      if (!current || sequenceOf(current) < sequenceOf(erasure)) this.#byId.set(erasure.id, erasure)
    }
    return added
  }

  async #follow(): Promise<void> {
    const before = this.#running()
    const added = await this.#read()
    for (const erasure of added) await this.#options.file.add(erasure)
    const isSame = this.#running().every((each, at) => each === before[at])
    if (added.length > 0 || !isSame || this.#running().length !== before.length) await this.#hide(...added)
    this.#work()
  }

  #work(): void {
    if (this.#working || this.#stopped || this.#running().length === 0) return
    this.#working = this.#eraseAll().finally(() => {
      this.#working = undefined
      this.#work()
    })
  }

  async #eraseAll(): Promise<void> {
    let failures = 0
    for (let next = this.#running()[0]; next && !this.#stopped; next = this.#running()[0]) {
      try {
        await this.#erase(next)
        failures = 0
      } catch (error) {
        // An engine that is away, or a replica that cannot be reached, is asked again.
        const { id } = next
        this.#options.log.warn({ err: error, erasure: id }, 'an erasure cannot continue; retrying')
        await this.#pause(Math.min(longestPauseMs, pollEveryMs * 2 ** ++failures))
      }
    }
  }

  async #erase({ id }: Erasure): Promise<void> {
    const { shared, time, log } = this.#options
    // They may have begun before the entries were hidden.
    let areEnded = false
    void this.#hooks.queriesEnded().then(() => {
      areEnded = true
    })
    await this.#acceptStored()
    const erasure = await this.#eraseRows(this.get(id))
    for (const table of this.#tables(erasure)) await this.#remove(table)
    if (shared) await this.#pause(othersFollowMs)
    while (!areEnded && !this.#stopped) await this.#pause(pollEveryMs)
    await this.#forget(erasure)
    if (this.#stopped) return
    await this.#store({ ...erasure, done_at: new Date(time.wall.now()).toISOString() })
    await this.#hide()
    log.info({ erasure: erasure.id, entries: erasure.entries }, 'entries were erased')
  }

  /** Resolves when no replica has such rows. Removes them again if the engine has forgotten to, as after a power cut. */
  async #remove({ table, sql }: ConcernedTable): Promise<void> {
    const { engine, topology } = this.#options
    while (!this.#stopped) {
      if ((await tablesRemoving(engine, topology(), [table])).size === 0) {
        const [counted] = await countRows(engine, topology(), [{ table, conditions: [sql] }], limits)
        if (counted?.[0]?.rows === 0) return
        await removeRows(engine, topology(), table, sql)
      }
      await this.#pause(pollEveryMs)
    }
  }

  /** A table that was restored has other parts than when an erasure of its rows was accepted. */
  async #checkCutoffs(): Promise<void> {
    const { engine, topology } = this.#options
    const tables = new Set(this.#running().flatMap(({ cutoffs }) => Object.keys(cutoffs ?? {})))
    if (tables.size === 0) return
    const ids = await tableIds(engine, topology(), [...tables])
    for (const erasure of this.#running()) {
      const isOther = Object.entries(erasure.cutoffs ?? {}).some(([table, { table_id }]) => {
        const current = ids.get(table)
        return current !== undefined && !current.includes(table_id)
      })
      if (isOther) this.#byId.set(erasure.id, { ...erasure, cutoffs: null })
    }
  }

  #pause(ms: number): Promise<void> {
    if (this.#stopped) return Promise.resolve()
    return new Promise((resolve) => {
      const cancel = this.#options.time.after(ms, resolve)
      this.#cancelPause = () => {
        cancel()
        resolve()
      }
    })
  }
}

/** Of a file: the engine may have other rows by now. */
function asUnaccepted(erasure: Erasure): Erasure {
  return { ...erasure, cutoffs: null, rows_erased: false, rows_left: 'none', done_at: null }
}

/** The row of an erasure with the highest one counts. Earlier versions stored 1, and 2 at the end. */
function sequenceOf({ cutoffs, rows_erased, rows_left, done_at }: Erasure): number {
  if (done_at !== null) return rows_left === 'erased' ? 5 : 4
  if (cutoffs === null) return 1
  return rows_erased ? 3 : 2
}
