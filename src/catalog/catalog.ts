import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import { nameTaken, versionConflict } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Engine } from '../engine/engine.ts'
import { readJsonRows, writeJsonRows } from '../engine/json-rows.ts'
import {
  batchesOf,
  type CatalogChange,
  type CatalogKind,
  type CatalogRecord,
  CatalogState,
  entriesOfBatch,
  type NamesOf,
  type Verdict,
} from './catalog-replay.ts'
import { migrate, runOnce } from './migrations.ts'
import { database, type Topology } from './tables.ts'

export interface CatalogOptions {
  engine: Engine
  clock: Clock
  log: Log
  topology: Topology
  /** Whether other services may write to the same tables. */
  shared: boolean
}

/** Takes what became of a kind; what it throws at the start stops the start. */
export type CatalogListener = (changed: readonly CatalogRecord[]) => Promise<void> | void

const limits = { deadlineMs: 60_000 }
const followEveryMs = 1_000
const maxAttempts = 5

/** Names of the things that can be called by name. Whatever is in a record, this does not throw. */
export const namesOf: NamesOf = (kind, body) => {
  const { name, aliases, definition } = (body ?? {}) as Record<string, unknown>
  switch (kind) {
    case 'token':
      return []
    case 'endpoint':
      return texts((definition as { name?: unknown } | undefined)?.name)
    case 'source':
      return texts(name, ...(Array.isArray(aliases) ? aliases : []))
  }
}

function texts(...values: unknown[]): string[] {
  return values.filter((value) => typeof value === 'string')
}

/**
 * What the service is told to be, as rows that are only ever added; the current state is in memory. Several
 * services on one ClickHouse write to the same log and follow each other: the order in which the engine took the
 * rows decides who came first.
 */
export class Catalog {
  readonly #options: CatalogOptions
  readonly #listeners = new Map<CatalogKind, CatalogListener>()
  #state = new CatalogState(namesOf)
  /** What became of each row. */
  #verdicts: ReadonlyMap<string, Verdict> = new Map()
  #rows = -1
  /** Whether there may be rows in the log that the state does not know. */
  #behind = true
  /** Changes and reloads run one after the other. */
  #last: Promise<unknown> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #failing = false
  #following = false
  /** Changes that a listener has thrown at. */
  readonly #undigested = new Map<CatalogKind, CatalogRecord[]>()

  constructor(options: CatalogOptions) {
    this.#options = options
  }

  get topology(): Topology {
    return this.#options.topology
  }

  /** Called with what changed, and at the opening with everything. One part of the service owns a kind. */
  onChange(kind: CatalogKind, listener: CatalogListener): void {
    this.#listeners.set(kind, listener)
  }

  async open(): Promise<void> {
    await migrate(this.#options.engine, this.topology, this.#options.log)
    await this.#alone(() => this.#reload())
    this.#timer = setInterval(() => void this.#follow(), followEveryMs).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#last
  }

  /** Every version, oldest first. Of what was deleted, too. */
  history(kind: CatalogKind, id: string): readonly CatalogRecord[] {
    return this.#state.history(kind, id)
  }

  /** Writes changes, all or none, and resolves when they hold here. Throws if somebody else was first. */
  append(by: string, ...changes: CatalogChange[]): Promise<void> {
    return this.#alone(async () => {
      // What could not be taken over is tried again, and before anything is written.
      if (this.#behind || this.#undigested.size > 0) {
        await this.#reload().catch((error) => this.#unlessOthers(error, changes))
      }
      refuse(this.#state.judge(...changes), changes, this.#state)
      const entries = entriesOfBatch(randomUUID(), changes.length)
      const records = changes.map((change, index) => ({
        ...change,
        entry: entries[index] as string,
        changed_at: new Date(this.#options.clock.now()).toISOString(),
        changed_by: by,
      }))
      // Until it is read again nobody knows what became of it.
      this.#behind = true
      await this.#insert(records)
      await this.#reload().catch((error) => this.#unlessOthers(error, changes))
      for (const { entry, kind, id } of records) {
        const lost = { accepted: false, because: 'version', kind, id } as const
        refuse(this.#verdicts.get(entry) ?? lost, changes, this.#state)
      }
    })
  }

  /** Runs something while nothing is changed here. */
  hold<T>(work: () => Promise<T>): Promise<T> {
    return this.#alone(work)
  }

  /** Runs work that is needed once for this data. */
  once(id: number, work: () => Promise<void>): Promise<void> {
    return runOnce(this.#options.engine, id, work)
  }

  async read<Row>(sql: string): Promise<Row[]> {
    const { body } = await this.#options.engine.query({ sql, format: 'JSONEachRow' }, limits)
    return readJsonRows<Row>(body)
  }

  async run(statements: string[], settings: Record<string, number> = {}): Promise<void> {
    for (const sql of statements) await this.#options.engine.command({ sql, settings }, limits)
  }

  get shared(): boolean {
    return this.#options.shared
  }

  /** An outage of the engine leaves the state as it was. */
  async #follow(): Promise<void> {
    if (this.#following || (!this.#options.shared && !this.#behind && this.#undigested.size === 0)) return
    this.#following = true
    try {
      await this.#alone(async () => {
        const news = this.#behind || this.#undigested.size > 0 || (await this.#count()) !== this.#rows
        if (news) await this.#reload()
      })
      this.#failing = false
    } catch (error) {
      if (!this.#failing) this.#options.log.warn({ err: error }, 'the catalog cannot be followed')
      this.#failing = true
    } finally {
      this.#following = false
    }
  }

  /** Whoever changes one kind of thing need not hear that another one is in trouble. */
  #unlessOthers(error: unknown, changes: readonly CatalogChange[]): void {
    if (this.#behind || changes.some(({ kind }) => this.#undigested.has(kind))) throw error
    this.#options.log.warn({ err: error }, 'a part of the catalog cannot be taken over')
  }

  async #count(): Promise<number> {
    const { body } = await this.#query(`SELECT count() FROM ${database}._catalog`, 'TabSeparatedRaw')
    return Number(body.toString())
  }

  async #reload(): Promise<void> {
    const { body } = await this.#query(
      "SELECT entry, kind, id, version, formatDateTime(changed_at, '%FT%T.%fZ', 'UTC') AS at, changed_by, deleted, body " +
        `FROM ${database}._catalog ORDER BY _block_number, changed_at, version, id`,
      'JSONEachRow',
    )
    const rows = readJsonRows<CatalogRow>(body).map(readRecord)
    const state = new CatalogState(namesOf)
    const verdicts = new Map<string, Verdict>()
    for (const batch of batchesOf(rows)) {
      const verdict = state.apply(...batch)
      for (const { entry } of batch) verdicts.set(entry, verdict)
    }
    this.#verdicts = verdicts
    const changed = state.newest().filter(({ kind, id, entry, version }) => {
      const before = this.#state.current(kind, id)
      return before?.entry !== entry || before.version !== version
    })
    this.#state = state
    this.#rows = rows.length
    this.#behind = false
    await this.#tell(changed)
  }

  /** What one kind cannot digest is kept for the next time, and keeps none of the others from what is theirs. */
  async #tell(changed: readonly CatalogRecord[]): Promise<void> {
    let failure: unknown
    for (const [kind, listener] of this.#listeners) {
      const left = this.#undigested.get(kind) ?? []
      const ofKind = [...left, ...changed].filter((record) => record.kind === kind)
      const newest = [...new Map(ofKind.map((record) => [record.id, record])).values()]
      if (newest.length === 0) continue
      try {
        await listener(newest)
        this.#undigested.delete(kind)
      } catch (error) {
        this.#undigested.set(kind, newest)
        failure ??= error
      }
    }
    if (failure !== undefined) throw failure
  }

  #query(sql: string, format: string) {
    return this.#options.engine.query(
      { sql, format, ...(this.topology.cluster && { settings: { select_sequential_consistency: 1 } }) },
      limits,
    )
  }

  async #insert(records: CatalogRecord[]): Promise<void> {
    const rows = records.map((record) => ({
      ...record,
      changed_at: (Date.parse(record.changed_at) / 1000).toFixed(6),
      body: JSON.stringify(record.body),
    }))
    const settings = this.topology.cluster ? { insert_quorum: 'auto', insert_quorum_parallel: 0 } : {}
    await this.#options.engine.insert(
      { table: `${database}._catalog`, format: 'JSONEachRow', settings },
      writeJsonRows(rows),
      limits,
    )
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#last.then(work)
    this.#last = run.catch(() => {})
    return run
  }
}

type CatalogRow = Omit<CatalogRecord<string>, 'changed_at'> & { at: string }

function readRecord({ at, body, ...row }: CatalogRow): CatalogRecord {
  try {
    // The table keeps microseconds; everything else that tells a time tells milliseconds.
    return { ...row, changed_at: new Date(at).toISOString(), body: JSON.parse(body) as unknown }
  } catch {
    throw new Error(`The catalog cannot be read: version ${row.version} of ${row.kind} ${row.id} is no JSON.`)
  }
}

function refuse(verdict: Verdict, changes: readonly CatalogChange[], state: CatalogState): void {
  if (verdict.accepted) return
  if (verdict.because === 'name') throw nameTaken(verdict.name)
  const { kind, id } = verdict
  const wanted = changes.find((change) => change.kind === kind && change.id === id)?.version ?? 1
  throw versionConflict(String(wanted - 1), state.current(kind, id)?.version ?? 0)
}

/** Reads the body of a record by its shape. */
export function readBody<T>(record: CatalogRecord, shape: z.ZodType<T>): T {
  const parsed = shape.safeParse(record.body)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new Error(
    `The catalog cannot be read: version ${record.version} of ${record.kind} ${record.id}: ` +
      `${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}.`,
  )
}

/** Whoever names no version wants the newest one changed, whichever that is by then. */
export async function lastWins<T>(expected: number | undefined, change: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await change()
    } catch (error) {
      if (expected !== undefined || attempt >= maxAttempts || !versionConflict.is(error)) throw error
    }
  }
}
