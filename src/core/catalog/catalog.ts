import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Author, authorId } from '../base/author.ts'
import type { Clock } from '../base/clock.ts'
import { engineUnavailable, invalidBody, nameTaken, versionConflict } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Topology } from '../engine/cluster/topology.ts'
import type { Engine } from '../engine/engine.ts'
import { queryRows } from '../engine/json-rows.ts'
import { rememberChanges } from '../engine/tables.ts'
import { CatalogLog, isPrunable, type PlacedRecord, placedFrom, refuseLarge } from './catalog-log.ts'
import {
  batchesOf,
  type CatalogChange,
  type CatalogRecord,
  CatalogState,
  type Claims,
  entriesOfBatch,
  type RecordKind,
  type Verdict,
} from './catalog-state.ts'
import { keepCatalogTable, refuseUnfinishedCopy } from './copy-record.ts'
import { migrate, schemaVersion } from './migrations.ts'
import type { OwnTable } from './own-tables.ts'
import { RowFollower, type RowsListener } from './row-follower.ts'

interface CatalogOptions {
  engine: Engine
  clock: Clock
  log: Log
  /** Tables of core and of all features. */
  tables: readonly OwnTable[]
  /** Known once the engine has started. */
  topology: () => Topology
  /** Whether other services may write to the same catalog. */
  shared: boolean
}

type KeepCopy = (schema: number) => Promise<string>

/** Applies changes of one kind. An error during the start stops the start. */
type CatalogListener = (changed: readonly CatalogRecord[]) => Promise<void> | void

const limits = { deadlineMs: 60_000 }
const followEveryMs = 1_000
const nodesWithinMs = 20_000
const askAgainMs = 200
const maxAttempts = 10
const retryAfterMs = 50
const tidyAfterMs = 50

/**
 * Definitions, tokens, people, links and saved searches as an append-only log. Services that share a ClickHouse server append
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
  readonly #listeners = new Map<string, { kind: RecordKind; listener: CatalogListener }>()
  #state = new CatalogState((kind, body) => this.#namesOf(kind, body))
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
  readonly #unapplied = new Map<string, CatalogRecord[]>()
  readonly #rows = new RowFollower()
  /** Changes that may have left versions to remove. Undefined: nothing is to be done. */
  #untidy: CatalogChange[] | undefined
  #tidying: Promise<void> = Promise.resolve()

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
  onChange(kind: RecordKind, listener: CatalogListener): void {
    this.#listeners.set(kind.name, { kind, listener })
  }

  /** Whether there are records of a kind that nobody listens to, with a name or any. This build lacks their feature. */
  hasUnread(kind: string, name?: string): boolean {
    if (this.#listeners.has(kind)) return false
    return name === undefined ? this.#state.count(kind) > 0 : this.#state.owner(kind, name) !== undefined
  }

  /** Never throws, whatever the body is. */
  #namesOf(kind: string, body: unknown): string[] {
    const known = this.#listeners.get(kind)?.kind
    const fields = (body ?? {}) as Record<string, unknown>
    const names = known ? (known.namesOf?.(fields) ?? []) : namesOfUnknown(fields)
    return names.filter((name) => typeof name === 'string')
  }

  /** Calls the listener now and after each change, before old versions are removed. */
  onRows(listener: RowsListener): void {
    this.#rows.listen(listener)
    void this.#derive().catch(() => {})
  }

  /** Takes what keeps the definitions of an older schema and returns where they are. By default, it is a table beside them. */
  async open(keepCopy?: KeepCopy): Promise<void> {
    if (this.shared) await refuseUnfinishedCopy(this.#options.engine)
    const { engine, tables } = this.#options
    const ran = await migrate(engine, this.topology, {
      tables,
      keepCopy: (schema) => this.#keepCopy(schema, keepCopy),
    })
    if (ran.length > 0) this.#options.log.info({ schema: schemaVersion }, 'the data has the current schema')
    if (this.shared) await this.run(rememberChanges(this.topology))
    await this.hold(() => this.#catchUp())
    this.#timer = setInterval(() => void this.#follow(), followEveryMs).unref()
  }

  async #keepCopy(schema: number, keepCopy: KeepCopy | undefined): Promise<void> {
    const { engine, log } = this.#options
    const copy = keepCopy ? await keepCopy(schema) : await keepCatalogTable(engine, this.topology, schema)
    log.info(
      { from: schema, to: schemaVersion, copy },
      'migrating the data; to go back, see "Upgrading and downgrading" in docs/operations/operating.md',
    )
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#last
    await this.#tidying
    await this.#rows.settled()
  }

  /** Throws if a record of a planned batch claims a name that is taken. */
  claim({ kind, id, body }: Pick<CatalogChange, 'kind' | 'id' | 'body'>, claims: Claims): void {
    const name = this.#state.taken(kind, id, this.#namesOf(kind, body), claims)
    if (name !== undefined) throw nameTaken(name)
  }

  /** Throws if there were too many of a kind after the changes. */
  refuseMany(changes: readonly CatalogChange[]): void {
    for (const {
      kind: { name, most, plural },
    } of this.#listeners.values()) {
      const own = changes.filter(({ kind }) => kind === name)
      const added = own.filter(({ version, deleted }) => version === 1 && !deleted).length
      const removed = own.filter(({ deleted }) => deleted).length
      if (added === 0 || this.#state.count(name) + added - removed <= most) continue
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
    if (!this.#untidy) this.#tidying = this.#tidying.then(() => delay(tidyAfterMs)).then(() => this.#tidy())
    this.#untidy = [...(this.#untidy ?? []), ...changes.filter(isPrunable)]
    return true
  }

  /** After a pause, so that changes in a row share the work. Nobody waits for it, except the end of the service. */
  async #tidy(): Promise<void> {
    const changes = this.#untidy ?? []
    this.#untidy = undefined
    try {
      await this.#derive()
      if (changes.length === 0) return
      await this.hold(async () => {
        await this.#derive()
        await this.log.prune(changes)
      })
    } catch (error) {
      this.#options.log.warn({ err: error }, 'removing old versions from the catalog failed')
    }
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
    await (this.shared ? this.#catchUpOwn() : this.#applyOwn(records)).catch((error) =>
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
    this.#rows.wrote(placedFrom(this.#next, records))
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

  /** Waits until the statement counts no node that lacks something. Those that are away are not waited for. Undefined: one node. */
  async waitForNodes(countLacking: string | undefined): Promise<void> {
    for (let waitedMs = 0; countLacking && waitedMs < nodesWithinMs; waitedMs += askAgainMs) {
      const [row] = await this.read<{ lacking: string }>(countLacking)
      if (Number(row?.lacking) === 0) return
      await delay(askAgainMs)
    }
  }

  /** Reads the log if it has changed. An outage of the engine leaves the state as it was. */
  async #follow(): Promise<void> {
    if (this.#following || this.#isCurrent) return
    this.#following = true
    try {
      await this.hold(async () => {
        // What was unknown may have been a change that has ended since.
        if (this.#isCurrent) return
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

  get #isCurrent(): boolean {
    return !this.shared && !this.#stale && this.#unapplied.size === 0 && !this.#rows.isBehind
  }

  #derive(): Promise<void> {
    return this.#rows.follow(() => this.#next)
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
    if (!isKnown) return this.#reach(end, await this.#reload(end))
    const batches = end === this.#next ? [] : this.log.batches(this.#next, end)
    await this.#reach(end, await this.#applyBatches(this.#state, batches))
  }

  /** Reads the log after an own change, which is usually all that is new. */
  async #catchUpOwn(): Promise<void> {
    const rows = (await this.log.few(this.#next)) ?? []
    const last = rows.at(-1)
    if (!last) return this.#catchUp()
    await this.#reach(last.position + 1, await this.#applyBatches(this.#state, batchesOf(rows)))
  }

  #reach(end: number, changed: readonly CatalogRecord[]): Promise<void> {
    if (end !== this.#next) this.#ignored = 0
    this.#next = end
    this.#stale = false
    return this.#notify(changed)
  }

  /** Reads the newest version of everything. Only a log with conflicts is read whole. */
  async #reload(end: number): Promise<CatalogRecord[]> {
    const state = new CatalogState((kind, body) => this.#namesOf(kind, body))
    let read: CatalogRecord[] = []
    if (await this.log.isRegular()) {
      for await (const records of this.log.newest()) read = read.concat(records)
      state.put(read)
    } else read = await this.#applyBatches(state, this.log.batches(0, end))
    const known = this.#state
    this.#state = state
    return read.filter(({ kind, id, entry }) => known.current(kind, id)?.entry !== entry)
  }

  /** Returns the newest of the accepted changes to each record. */
  async #applyBatches(
    state: CatalogState,
    batches: AsyncIterable<PlacedRecord[]> | Iterable<PlacedRecord[]>,
  ): Promise<CatalogRecord[]> {
    const changed = new Map<string, CatalogRecord>()
    const verdicts = new Map<string, Verdict>()
    for await (const batch of batches) {
      if (state === this.#state) this.#rows.wrote(batch)
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
    for (const [
      kind,
      {
        kind: { isReferring },
        listener,
      },
    ] of this.#listeners) {
      const unapplied = this.#unapplied.get(kind) ?? []
      const ofKind = [...unapplied, ...changed].filter((record) => record.kind === kind)
      const newest = [...new Map(ofKind.map((record) => [record.id, record])).values()]
      if (newest.length === 0) continue
      try {
        await listener(newest)
        this.#unapplied.delete(kind)
        if (isReferring) this.#revision++
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

/** Definitions of a feature that this build lacks keep their names. */
function namesOfUnknown({ definition }: Readonly<Record<string, unknown>>): readonly unknown[] {
  return [(definition as { name?: unknown } | null | undefined)?.name]
}
