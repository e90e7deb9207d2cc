import { randomUUID } from 'node:crypto'
import type { Timers } from '../base/clock.ts'
import { rateLimited, resourceNotFound } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { repeat } from '../base/repeat.ts'
import type { Topology } from '../engine/cluster/topology.ts'
import type { Engine } from '../engine/engine.ts'
import { queryRows, writeJsonRows } from '../engine/json-rows.ts'
import { followEveryMs, isNewSql } from '../engine/project-tables.ts'
import { countRows, removeRows, tablesRemoving } from '../engine/removed-rows.ts'
import { isoText } from '../shared/timestamps.ts'
import type { HiddenRows } from '../sql/isolation.ts'
import { sqlText } from '../sql/names.ts'
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
  /** Removes the project's rows of tables that users fill. */
  eraseTables: (project: string) => Promise<unknown>
}

const limits = { deadlineMs: 120_000 }
const pollEveryMs = 250
const maxRemovals = 3
const longestPauseMs = 30_000
const maxRunning = 50
export const maxListed = 1_000
/** Others hide the entries within this time, and drop what they computed from them. */
const othersFollowMs = 3_000

interface ConcernedTable {
  table: string
  /** Condition for its rows. */
  sql: string
}

type CountedErasure = Omit<Awaited<ReturnType<Erasures['count']>>, 'dry_run'>

/**
 * Erases entries of a project: hides them from every query, removes them from the disk, and counts until there are none on any
 * replica. One at a time, and one table at a time. Each is stored before it begins, so that another start continues it.
 */
export class Erasures {
  readonly #options: ErasuresOptions
  readonly #byId = new Map<string, Erasure>()
  /** Rows that nobody may see anymore; undefined if there are none. */
  hidden: HiddenRows | undefined
  #readUntil = '2000-01-01 00:00:00'
  #onErase: (erasure: Erasure, sources: readonly string[]) => Promise<void> = async () => {}
  #queriesEnded = async () => {}
  #working: Promise<void> | undefined
  #following: ReturnType<typeof repeat> | undefined
  #cancelPause: (() => void) | undefined
  #stopped = false

  constructor(options: ErasuresOptions) {
    this.#options = options
  }

  /**
   * Sets what forgets results and entries in memory of a project that are of these sources, and what resolves when all queries
   * have ended that run now. See `src/app/after-changes.ts`.
   */
  follow(
    onErase: (erasure: Erasure, sources: readonly string[]) => Promise<void>,
    queriesEnded: () => Promise<void>,
  ): void {
    this.#onErase = onErase
    this.#queriesEnded = queriesEnded
  }

  /** Hides what is not erased yet before the first request, also what came back with an old backup. */
  async open(): Promise<void> {
    await this.#read()
    const { file, shared, time, log } = this.#options
    for (const erasure of await file.read()) {
      if (!this.#byId.has(erasure.id)) await this.#store({ ...erasure, done_at: null })
    }
    // Also if the file was lost.
    for (const erasure of this.#byId.values()) await file.add(erasure)
    await this.#hide()
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
    await this.#working
  }

  /** The newest first. */
  list(): Erasure[] {
    const all = [...this.#byId.values()]
    return all.sort((one, other) => (one.created_at > other.created_at ? -1 : 1)).slice(0, maxListed)
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

  async count(body: unknown) {
    const { dry_run, ...rows } = this.#check(body)
    return { dry_run, rows, ...(await this.#count(rows)) }
  }

  /** Begins an erasure. Resolves once it is stored and its entries are hidden here. */
  async begin(
    { rows, ...counted }: CountedErasure,
    by: string,
    before: (erasure: Erasure) => Promise<void>,
  ): Promise<Erasure> {
    if (this.#running().length >= maxRunning) {
      throw rateLimited(`At most ${maxRunning} erasures can wait. Try again when some are done.`, 10)
    }
    const created_at = new Date(this.#options.time.wall.now()).toISOString()
    const id = randomUUID()
    const erasure = { id, ...rows, ...counted, created_at, created_by: by, done_at: null }
    await before(erasure)
    await this.#options.file.add(erasure)
    await this.#store(erasure)
    await this.#hide(erasure)
    this.#work()
    return erasure
  }

  #check(body: unknown) {
    const sent = readErasure(body)
    return { ...sent, source: sent.source === null ? null : this.#options.sourceOf(sent.source) }
  }

  #tables(rows: ErasedRows): ConcernedTable[] {
    const sources = this.#options.sources()
    return sources.flatMap(({ name: table }) => {
      const sql = erasedSql(rows, table, sources)
      return sql === undefined ? [] : [{ table, sql }]
    })
  }

  /** Without an end, entries count that are ahead of the clock. */
  async #count(rows: ErasedRows): Promise<Pick<Erasure, 'entries' | 'to' | 'tables' | 'everything'>> {
    const { engine, topology, time } = this.#options
    const { source, from, to, ids } = rows
    const found: string[] = []
    let newest = BigInt(time.wall.now()) * 1000n
    const tables = this.#tables(rows)
    const counted = await countRows(engine, topology(), tables, limits)
    // Replicas have the same rows, and shards may differ in how many they have.
    const shown =
      topology().cluster === undefined ? counted : await countRows(engine, topology(), tables, limits, 'one')
    for (const { table, rows: count, newestMicros } of counted) {
      if (count > 0) found.push(table)
      if (count > 0 && newestMicros >= newest) newest = newestMicros + 1n
    }
    return {
      entries: shown.reduce((sum, { rows: count }) => sum + count, 0),
      to: to ?? isoText(newest),
      tables: ids === null ? null : found,
      everything: [source, from, to, ids].every((part) => part === null),
    }
  }

  #running(): Erasure[] {
    return [...this.#byId.values()].filter(({ done_at }) => done_at === null)
  }

  /** Compiled once for each change of what is hidden, since every query asks for it. */
  async #hide(...added: readonly Erasure[]): Promise<void> {
    const { sources } = this.#options
    const running = this.#running()
    const byTable = new Map<string, string | undefined>()
    this.hidden =
      running.length === 0
        ? undefined
        : (table) => {
            if (!byTable.has(table)) {
              const terms = running.flatMap((rows) => erasedSql(rows, table, sources()) ?? [])
              byTable.set(table, terms.length === 0 ? undefined : terms.map((sql) => `(${sql})`).join(' OR '))
            }
            return byTable.get(table)
          }
    for (const erasure of added) await this.#forget(erasure)
  }

  #forget(erasure: Erasure): Promise<void> {
    return this.#onErase(
      erasure,
      this.#tables(erasure).map(({ table }) => table),
    )
  }

  async #store(erasure: Erasure): Promise<void> {
    const row = { id: erasure.id, sequence: erasure.done_at === null ? 1 : 2, body: JSON.stringify(erasure) }
    const target = { table: '_erasures', columns: ['id', 'sequence', 'body'], format: 'JSONEachRow' } as const
    await this.#options.engine.insert(target, writeJsonRows([row]), limits)
    this.#byId.set(erasure.id, erasure)
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
      // The row may be older than the end, which this service stored meanwhile.
      if (!this.#byId.get(erasure.id)?.done_at) this.#byId.set(erasure.id, erasure)
    }
    return added
  }

  async #follow(): Promise<void> {
    const before = this.#running().length
    const added = await this.#read()
    for (const erasure of added) await this.#options.file.add(erasure)
    if (added.length > 0 || this.#running().length !== before) await this.#hide(...added)
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

  async #erase(erasure: Erasure): Promise<void> {
    const { shared, time, log, eraseTables } = this.#options
    // They may have begun before the entries were hidden.
    let areEnded = false
    void this.#queriesEnded().then(() => {
      areEnded = true
    })
    await this.#removeAll(erasure)
    // Rows of such tables have neither a source nor a time.
    if (erasure.everything) await eraseTables(erasure.project)
    await this.#pause(shared ? othersFollowMs : pollEveryMs)
    // Entries of requests that were under way may have arrived since.
    await this.#removeAll(erasure)
    while (!areEnded && !this.#stopped) await this.#pause(pollEveryMs)
    await this.#forget(erasure)
    if (this.#stopped) return
    await this.#store({ ...erasure, done_at: new Date(time.wall.now()).toISOString() })
    await this.#hide()
    log.info({ erasure: erasure.id, entries: erasure.entries }, 'entries were erased')
  }

  /** One table after the other. Keys of requests stay if some of their entries do: otherwise these could be stored twice. */
  async #removeAll(erasure: Erasure): Promise<void> {
    for (const table of await this.#unfinished(this.#tables(erasure))) await this.#remove(table)
    const sql = `project = ${sqlText(erasure.project)}`
    if (erasure.everything) await this.#remove({ table: '_idempotency', sql })
  }

  /** Those that have such rows, or from which rows are being removed. */
  async #unfinished(tables: readonly ConcernedTable[]): Promise<ConcernedTable[]> {
    const { engine, topology } = this.#options
    const removing = await tablesRemoving(
      engine,
      topology(),
      tables.map(({ table }) => table),
    )
    const counted = await countRows(engine, topology(), tables, limits)
    return tables.filter(({ table }, place) => removing.has(table) || counted[place]?.rows !== 0)
  }

  /** Resolves when no replica has such rows, or only some that keep arriving: each removal takes all that were stored before it. */
  async #remove({ table, sql }: ConcernedTable): Promise<void> {
    const { engine, topology } = this.#options
    // Other nodes may learn late of a removal.
    let left = topology().cluster === undefined ? maxRemovals : Infinity
    while (!this.#stopped) {
      if ((await tablesRemoving(engine, topology(), [table])).size > 0) {
        await this.#pause(pollEveryMs)
        continue
      }
      const [counted] = await countRows(engine, topology(), [{ table, sql }], limits)
      if (counted?.rows === 0 || left-- === 0) return
      await removeRows(engine, topology(), table, sql)
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
