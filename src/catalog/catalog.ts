import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Author, authorId } from '../base/author.ts'
import type { Clock } from '../base/clock.ts'
import { engineUnavailable, invalidBody, nameTaken, tooLarge, versionConflict } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Topology } from '../cluster/topology.ts'
import type { Engine } from '../engine/engine.ts'
import { queryRows } from '../engine/json-rows.ts'
import { CatalogLog } from './catalog-log.ts'
import {
  type CatalogChange,
  type CatalogKind,
  type CatalogRecord,
  CatalogState,
  entriesOfBatch,
  type NamesOf,
  type Verdict,
} from './catalog-state.ts'
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

/** Maximum bytes of a definition as JSON. */
export const maxDefinitionBytes = 256 * 2 ** 10

/** Maximum number of definitions of each kind, and its name for people. */
const maxOfKind: Record<CatalogKind, readonly [number: number, plural: string]> = {
  source: [1_000, 'sources'],
  endpoint: [10_000, 'endpoints'],
  alert: [10_000, 'alerts'],
  dashboard: [1_000, 'dashboards'],
  link: [10_000, 'links'],
  search: [500, 'saved searches'],
  token: [500_000, 'access tokens'],
  person: [50_000, 'people'],
}

/** Never throws, whatever the body is. */
export const namesOf: NamesOf = (kind, body) => {
  const { name, source, aliases, definition } = (body ?? {}) as Record<string, unknown>
  switch (kind) {
    case 'token':
    case 'link':
    case 'person':
      return []
    case 'alert':
    case 'dashboard':
    case 'endpoint':
      return texts((definition as { name?: unknown } | undefined)?.name)
    case 'search':
      return texts(`${source}: ${name}`)
    case 'source':
      return texts(name, ...(Array.isArray(aliases) ? aliases : []))
  }
}

/** Kinds that refer to one another, so that a change to one can take away what the plan of another rests on. */
const referring: ReadonlySet<CatalogKind> = new Set(['source', 'endpoint', 'alert', 'dashboard'])

function texts(...values: unknown[]): string[] {
  return values.filter((value) => typeof value === 'string')
}

/**
 * Endpoints, alerts, dashboards, sources, tokens, people and saved searches as an append-only log. Services that share a ClickHouse server append
 * to the same log and follow each other; the order of the rows decides conflicts. The newest version of everything is with
 * those who listen to its kind; older ones are read when somebody looks at them.
 *
 * The position of the next row is also the deduplication token of an insert: of several inserts at one position, the server
 * stores one. The others are tried again.
 */
export class Catalog {
  readonly #options: CatalogOptions
  /** Every change, as it is stored. */
  readonly log: CatalogLog
  readonly #listeners = new Map<CatalogKind, CatalogListener>()
  #state = new CatalogState(namesOf)
  /** By entry: whether a change that was read last was accepted. */
  #verdicts: ReadonlyMap<string, Verdict> = new Map()
  /** The position of the next change; negative before the log was read. */
  #next = -1
  /** Number of inserts since the log last changed that the server ignored. */
  #ignored = 0
  /** Whether the log may have rows that the state lacks. */
  #stale = true
  /** The end of the queue of changes and reloads. */
  #last: Promise<unknown> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #failing = false
  #following = false
  /** Grows whenever definitions that refer to one another have changed here. */
  #revision = 0
  readonly #unapplied = new Map<CatalogKind, CatalogRecord[]>()
  #onRows: ((end: number) => Promise<void>) | undefined
  /** Whether the listener of rows failed. */
  #isBehind = false

  constructor(options: CatalogOptions) {
    this.#options = options
    this.log = new CatalogLog(options.engine, options.topology)
  }

  get topology(): Topology {
    return this.#options.topology()
  }

  get shared(): boolean {
    return this.#options.shared
  }

  get revision(): number {
    return this.#revision
  }

  /** The listener gets every change, and everything when the catalog opens. There is one listener per kind. */
  onChange(kind: CatalogKind, listener: CatalogListener): void {
    this.#listeners.set(kind, listener)
  }

  /** Calls the listener with the position after the last row: now and after each change, before old versions are removed. */
  onRows(listener: (end: number) => Promise<void>): void {
    this.#onRows = listener
    void this.hold(() => this.#derive()).catch(() => {})
  }

  async open(): Promise<void> {
    if (this.shared) await refuseUnfinishedCopy(this.#options.engine)
    await migrate(this.#options.engine, this.topology)
    if (this.shared) await this.run(rememberChanges(this.topology))
    await this.hold(() => this.#catchUp())
    this.#timer = setInterval(() => void this.#follow(), followEveryMs).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#last
  }

  ownerOf(kind: CatalogKind, name: string): string | undefined {
    return this.#state.ownerOf(kind, name)
  }

  /** Throws if there were too many of a kind after the changes. */
  refuseMany(changes: readonly CatalogChange[]): void {
    for (const [kind, [most, plural]] of Object.entries(maxOfKind)) {
      const own = changes.filter((change) => change.kind === kind)
      const added = own.filter(({ version, deleted }) => version === 1 && !deleted).length
      const removed = own.filter(({ deleted }) => deleted).length
      if (added === 0 || this.#state.count(kind as CatalogKind) + added - removed <= most) continue
      throw invalidBody(`There can be at most ${most} ${plural}. Delete some first.`)
    }
  }

  #refuse(verdict: Verdict, changes: readonly CatalogChange[]): void {
    if (verdict.accepted) return
    if (verdict.because === 'name') throw nameTaken(verdict.name)
    const { kind, id } = verdict
    const wanted = changes.find((change) => change.kind === kind && change.id === id)?.version ?? 1
    throw versionConflict(String(wanted - 1), this.#state.current(kind, id)?.version ?? 0)
  }

  /** Writes changes atomically, and resolves once they are applied here. Throws if another change came first. */
  async append(by: Author, ...changes: CatalogChange[]): Promise<void> {
    await this.#append(by, changes, () => true)
  }

  /** Writes nothing and returns false if definitions have changed since the revision of the plan. */
  appendPlanned(revision: number, by: Author, changes: CatalogChange[]): Promise<boolean> {
    return this.#append(by, changes, () => revision === this.#revision)
  }

  async #append(by: Author, changes: CatalogChange[], isCurrent: () => boolean): Promise<boolean> {
    changes.forEach(refuseLarge)
    const isStored = await this.hold(async () => {
      for (let attempt = 1; attempt <= maxAttempts; attempt++) {
        await this.#catchUpBefore(changes)
        if (!isCurrent()) return false
        if (await this.#appendOnce(by, changes)) return true
        await delay(retryAfterMs * attempt)
      }
      throw engineUnavailable('Other services change the catalog at the moment. Try again.')
    })
    if (!isStored) return false
    // Nobody waits for it, except the next change and the end of the service.
    void this.hold(async () => {
      await this.#derive()
      await this.log.prune(changes)
    }).catch((error) => {
      this.#options.log.warn({ err: error }, 'removing old versions from the catalog failed')
    })
    return true
  }

  /** Also retries what is not applied yet. */
  async #catchUpBefore(changes: readonly CatalogChange[]): Promise<void> {
    if (!this.#stale && this.#unapplied.size === 0) return
    await this.#catchUp().catch((error) => this.#unlessOthers(error, changes))
  }

  async #appendOnce(by: Author, changes: readonly CatalogChange[]): Promise<boolean> {
    this.#refuse(this.#state.judge(...changes), changes)
    this.refuseMany(changes)
    const entries = entriesOfBatch(randomUUID(), changes.length)
    const records = changes.map((change, index) => ({
      ...change,
      entry: entries[index] as string,
      changed_at: new Date(this.#options.clock.now()).toISOString(),
      changed_by: authorId(by),
      ...(typeof by === 'object' && { address: by.address, request_id: by.requestId }),
    }))
    // Until the log is read again, the outcome is unknown.
    this.#stale = true
    const token = this.shared ? this.#token() : undefined
    if (!(await this.log.append(records, this.#next, token))) return false
    await (this.shared ? this.#catchUp() : this.#applyOwn(records)).catch((error) =>
      this.#unlessOthers(error, changes),
    )
    const verdicts = records.flatMap(({ entry }) => this.#verdicts.get(entry) ?? [])
    for (const verdict of verdicts) this.#refuse(verdict, changes)
    if (verdicts.length === 0) this.#ignored++
    return verdicts.length > 0
  }

  /** Without other services, nothing else can have been written in between. */
  #applyOwn(records: readonly CatalogRecord[]): Promise<void> {
    this.#state.put(records)
    this.#verdicts = new Map(records.map(({ entry }) => [entry, { accepted: true }]))
    this.#next += records.length
    this.#stale = false
    return this.#notify(records)
  }

  read<Row>(sql: string): Promise<Row[]> {
    return queryRows<Row>(this.#options.engine, { sql }, limits)
  }

  async run(statements: string[], settings: Record<string, number> = {}): Promise<void> {
    for (const sql of statements) await this.#options.engine.command({ sql, settings }, limits)
  }

  /** Reads the log if it has changed. An outage of the engine leaves the state as it was. */
  async #follow(): Promise<void> {
    const isCurrent = !this.#stale && this.#unapplied.size === 0 && !this.#isBehind
    if (this.#following || (!this.#options.shared && isCurrent)) return
    this.#following = true
    try {
      await this.hold(async () => {
        await this.#catchUp()
        await this.#derive()
      })
      this.#failing = false
    } catch (error) {
      if (!this.#failing) this.#options.log.warn({ err: error }, 'cannot read the catalog; retrying')
      this.#failing = true
    } finally {
      this.#following = false
    }
  }

  async #derive(): Promise<void> {
    this.#isBehind = this.#onRows !== undefined
    await this.#onRows?.(this.#next)
    this.#isBehind = false
  }

  /** Throws only if the error concerns these changes; another kind may fail on its own. */
  #unlessOthers(error: unknown, changes: readonly CatalogChange[]): void {
    if (this.#stale || changes.some(({ kind }) => this.#unapplied.has(kind))) throw error
    this.#options.log.warn({ err: error }, 'cannot apply a part of the catalog; retrying')
  }

  /** Reads what is new in the log, or everything if it is not the log that is known. */
  async #catchUp(): Promise<void> {
    const end = await this.log.end()
    const isKnown = this.#next >= 0 && end >= this.#next
    const changed = isKnown ? await this.#replay(this.#state, this.#next, end) : await this.#reload(end)
    if (end !== this.#next) this.#ignored = 0
    this.#next = end
    this.#stale = false
    await this.#notify(changed)
  }

  /** Reads the newest version of everything. Only a log with conflicts is read whole. */
  async #reload(end: number): Promise<CatalogRecord[]> {
    const state = new CatalogState(namesOf)
    let read: CatalogRecord[] = []
    if (await this.log.isRegular()) {
      for await (const records of this.log.newest()) read = read.concat(records)
      state.put(read)
    } else read = await this.#replay(state, 0, end)
    const known = this.#state
    this.#state = state
    return read.filter(({ kind, id, entry }) => known.current(kind, id)?.entry !== entry)
  }

  /** Returns the newest of the accepted changes to each record. */
  async #replay(state: CatalogState, from: number, end: number): Promise<CatalogRecord[]> {
    if (from === end) return []
    const changed = new Map<string, CatalogRecord>()
    const verdicts = new Map<string, Verdict>()
    for await (const batch of this.log.batches(from, end)) {
      const verdict = state.apply(...batch)
      for (const record of batch) {
        verdicts.set(record.entry, verdict)
        if (verdict.accepted) changed.set(`${record.kind}/${record.id}`, record)
      }
    }
    this.#verdicts = verdicts
    return [...changed.values()]
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
        if (referring.has(kind)) this.#revision++
      } catch (error) {
        this.#unapplied.set(kind, newest)
        failure ??= error
      }
    }
    if (failure !== undefined) throw failure
  }

  /** The server may remember an insert whose rows it has lost, in a power cut for example. Then another token is needed. */
  #token(): string {
    const after = `after ${this.#next}`
    return this.#ignored < maxAttempts - 1 ? after : `${after}, attempt ${this.#ignored}`
  }

  /** Runs work while this service changes nothing. */
  hold<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#last.then(work)
    this.#last = run.catch(() => {})
    return run
  }
}

export function refuseLarge({ kind, body, deleted }: CatalogChange): void {
  if (deleted || Buffer.byteLength(JSON.stringify(body)) <= maxDefinitionBytes) return
  throw tooLarge(`The ${kind} has more than ${maxDefinitionBytes / 2 ** 10} KiB as JSON. Shorten its texts.`)
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
