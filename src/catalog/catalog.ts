import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import { engineUnavailable, nameTaken, versionConflict } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Topology } from '../cluster/topology.ts'
import type { Engine } from '../engine/engine.ts'
import { isQuorumBusy } from '../engine/engine-errors.ts'
import { queryRows, writeJsonRows } from '../engine/json-rows.ts'
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
import { refuseUnfinishedCopy } from './copy-record.ts'
import { migrate } from './migrations.ts'
import { rememberChanges } from './tables.ts'

interface CatalogOptions {
  engine: Engine
  clock: Clock
  log: Log
  /** Known once the engine has started. */
  topology: () => Topology
  /** Whether other services may write to the same catalog. */
  shared: boolean
}

/** Applies changes of one kind. An error during the start stops the start. */
type CatalogListener = (changed: readonly CatalogRecord[]) => Promise<void> | void

const limits = { deadlineMs: 60_000 }
const followEveryMs = 1_000
const maxAttempts = 10
const retryAfterMs = 50

/** Never throws, whatever the body is. */
export const namesOf: NamesOf = (kind, body) => {
  const { name, source, aliases, definition } = (body ?? {}) as Record<string, unknown>
  switch (kind) {
    case 'token':
      return []
    case 'alert':
    case 'endpoint':
      return texts((definition as { name?: unknown } | undefined)?.name)
    case 'search':
      return texts(`${source}: ${name}`)
    case 'source':
      return texts(name, ...(Array.isArray(aliases) ? aliases : []))
  }
}

function texts(...values: unknown[]): string[] {
  return values.filter((value) => typeof value === 'string')
}

/**
 * Endpoints, alerts, sources, tokens and saved searches as an append-only log, with the current state in memory. Services that share a
 * ClickHouse server append to the same log and follow each other; the order of the rows decides conflicts.
 *
 * A row's position is the number of rows before it. The number of known rows is also the deduplication token of an insert: of
 * several inserts after the same row, the server stores one. The others are tried again.
 */
export class Catalog {
  readonly #options: CatalogOptions
  readonly #listeners = new Map<CatalogKind, CatalogListener>()
  #state = new CatalogState(namesOf)
  /** By entry: whether the change was accepted. */
  #verdicts: ReadonlyMap<string, Verdict> = new Map()
  #rows = -1
  /** The position of the next change: the number of rows, unless rows were removed by hand. */
  #next = 0
  /** Number of inserts since the log last changed that the server ignored. */
  #ignored = 0
  /** Whether the log may have rows that the state lacks. */
  #stale = true
  /** The end of the queue of changes and reloads. */
  #last: Promise<unknown> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #failing = false
  #following = false
  readonly #unapplied = new Map<CatalogKind, CatalogRecord[]>()

  constructor(options: CatalogOptions) {
    this.#options = options
  }

  get topology(): Topology {
    return this.#options.topology()
  }

  /** The listener gets every change, and everything when the catalog opens. There is one listener per kind. */
  onChange(kind: CatalogKind, listener: CatalogListener): void {
    this.#listeners.set(kind, listener)
  }

  async open(): Promise<void> {
    if (this.shared) await refuseUnfinishedCopy(this.#options.engine)
    await migrate(this.#options.engine, this.topology)
    if (this.shared) await this.run(rememberChanges(this.topology))
    await this.hold(() => this.#reload())
    this.#timer = setInterval(() => void this.#follow(), followEveryMs).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#last
  }

  /** The newest versions of what is not deleted. */
  all(kind: CatalogKind): CatalogRecord[] {
    return this.#state.newest().filter((record) => record.kind === kind && !record.deleted)
  }

  /** Every version, oldest first, also of what was deleted. */
  history(kind: CatalogKind, id: string): readonly CatalogRecord[] {
    return this.#state.history(kind, id)
  }

  /** Writes changes atomically, and resolves once they are applied here. Throws if another change came first. */
  append(by: string, ...changes: CatalogChange[]): Promise<void> {
    return this.hold(async () => {
      for (let attempt = 1; attempt <= maxAttempts; attempt++) {
        if (await this.#appendOnce(by, changes)) return
        await delay(retryAfterMs * attempt)
      }
      throw engineUnavailable('Other services change the catalog at the moment. Try again.')
    })
  }

  async #appendOnce(by: string, changes: readonly CatalogChange[]): Promise<boolean> {
    // Retries what is not applied yet, before anything is written.
    if (this.#stale || this.#unapplied.size > 0) {
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
    // Until the log is read again, the outcome is unknown.
    this.#stale = true
    if (!(await this.#insert(records))) return false
    await this.#reload().catch((error) => this.#unlessOthers(error, changes))
    const verdicts = records.flatMap(({ entry }) => this.#verdicts.get(entry) ?? [])
    for (const verdict of verdicts) refuse(verdict, changes, this.#state)
    if (verdicts.length === 0) this.#ignored++
    return verdicts.length > 0
  }

  read<Row>(sql: string): Promise<Row[]> {
    return queryRows<Row>(this.#options.engine, { sql }, limits)
  }

  async run(statements: string[], settings: Record<string, number> = {}): Promise<void> {
    for (const sql of statements) await this.#options.engine.command({ sql, settings }, limits)
  }

  get shared(): boolean {
    return this.#options.shared
  }

  /** Reloads if the log has grown. An outage of the engine leaves the state as it was. */
  async #follow(): Promise<void> {
    if (this.#following || (!this.#options.shared && !this.#stale && this.#unapplied.size === 0)) return
    this.#following = true
    try {
      await this.hold(async () => {
        const hasNews = this.#stale || this.#unapplied.size > 0 || (await this.#count()) !== this.#rows
        if (hasNews) await this.#reload()
      })
      this.#failing = false
    } catch (error) {
      if (!this.#failing) this.#options.log.warn({ err: error }, 'cannot read the catalog; retrying')
      this.#failing = true
    } finally {
      this.#following = false
    }
  }

  /** Throws only if the error concerns these changes; another kind may fail on its own. */
  #unlessOthers(error: unknown, changes: readonly CatalogChange[]): void {
    if (this.#stale || changes.some(({ kind }) => this.#unapplied.has(kind))) throw error
    this.#options.log.warn({ err: error }, 'cannot apply a part of the catalog; retrying')
  }

  async #count(): Promise<number> {
    const [row] = await this.#query<{ n: string }>(`SELECT count() AS n FROM _catalog`)
    return Number(row?.n)
  }

  async #reload(): Promise<void> {
    const stored = await this.#query<CatalogRow>(
      "SELECT entry, kind, id, version, formatDateTime(changed_at, '%FT%T.%fZ', 'UTC') AS at, changed_by, deleted, body, position " +
        'FROM _catalog ORDER BY position',
    )
    const rows = stored.map(readRecord)
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
    if (rows.length !== this.#rows) this.#ignored = 0
    this.#rows = rows.length
    this.#next = Math.max(rows.length, Number(stored.at(-1)?.position ?? -1) + 1)
    this.#stale = false
    await this.#notify(changed)
  }

  /** A kind that fails is retried next time, and does not block the others. */
  async #notify(changed: readonly CatalogRecord[]): Promise<void> {
    let failure: unknown
    for (const [kind, listener] of this.#listeners) {
      const unapplied = this.#unapplied.get(kind) ?? []
      const ofKind = [...unapplied, ...changed].filter((record) => record.kind === kind)
      const newest = [...new Map(ofKind.map((record) => [record.id, record])).values()]
      if (newest.length === 0) continue
      try {
        await listener(newest)
        this.#unapplied.delete(kind)
      } catch (error) {
        this.#unapplied.set(kind, newest)
        failure ??= error
      }
    }
    if (failure !== undefined) throw failure
  }

  #query<Row>(sql: string): Promise<Row[]> {
    const settings = this.topology.replicated ? { select_sequential_consistency: 1 } : {}
    return queryRows<Row>(this.#options.engine, { sql, settings }, limits)
  }

  /** Returns false if another service is writing, so that nothing was stored. */
  async #insert(records: CatalogRecord[]): Promise<boolean> {
    const rows = records.map((record, index) => ({
      ...record,
      position: this.#next + index,
      changed_at: (Date.parse(record.changed_at) / 1000).toFixed(6),
      body: JSON.stringify(record.body),
    }))
    const settings = this.shared ? { insert_deduplication_token: this.#token() } : {}
    const target = { table: '_catalog', format: 'JSONEachRow', settings } as const
    try {
      await this.#options.engine.insert(target, writeJsonRows(rows), limits)
      return true
    } catch (error) {
      if (isQuorumBusy(error)) return false
      throw error
    }
  }

  /** The server may remember an insert whose rows it has lost, in a power cut for example. Then another token is needed. */
  #token(): string {
    const after = `after ${this.#rows}`
    return this.#ignored < maxAttempts - 1 ? after : `${after}, attempt ${this.#ignored}`
  }

  /** Runs work while this service changes nothing. */
  hold<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#last.then(work)
    this.#last = run.catch(() => {})
    return run
  }
}

type CatalogRow = Omit<CatalogRecord<string>, 'changed_at'> & { at: string; position: number | string }

function readRecord({ at, body, position: _, ...row }: CatalogRow): CatalogRecord {
  try {
    // The table has microseconds, the API milliseconds.
    return { ...row, changed_at: new Date(at).toISOString(), body: JSON.parse(body) as unknown }
  } catch {
    throw new Error(
      `The catalog is damaged: version ${row.version} of ${row.kind} ${row.id} is not valid JSON.`,
    )
  }
}

function refuse(verdict: Verdict, changes: readonly CatalogChange[], state: CatalogState): void {
  if (verdict.accepted) return
  if (verdict.because === 'name') throw nameTaken(verdict.name)
  const { kind, id } = verdict
  const wanted = changes.find((change) => change.kind === kind && change.id === id)?.version ?? 1
  throw versionConflict(String(wanted - 1), state.current(kind, id)?.version ?? 0)
}

export function readBody<T>(record: CatalogRecord, shape: z.ZodType<T>): T {
  const parsed = shape.safeParse(record.body)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new Error(
    `The catalog is damaged: version ${record.version} of ${record.kind} ${record.id}: ` +
      `${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}.`,
  )
}

export function expectVersion({ version }: { version: number }, expected: number | undefined): void {
  if (expected !== undefined && expected !== version) throw versionConflict(String(expected), version)
}

/** Retries a change after a conflict, unless the caller expects a certain version. */
export async function lastWins<T>(expected: number | undefined, change: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await change()
    } catch (error) {
      if (expected !== undefined || attempt >= maxAttempts || !versionConflict.is(error)) throw error
    }
  }
}
