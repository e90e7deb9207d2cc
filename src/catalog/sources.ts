import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../base/clock.ts'
import { nameTaken, sourceNotFound } from '../base/errors.ts'
import { closestName } from '../base/text/closest-name.ts'
import type { Topology } from '../cluster/topology.ts'
import { restName } from '../sql/paths.ts'
import { builtInSources } from './built-in-sources.ts'
import type { Catalog } from './catalog.ts'
import type { CatalogRecord } from './catalog-state.ts'
import { readSource, type Source, type TypedColumn } from './source.ts'
import {
  changeMerges,
  changeRetention,
  changeTypedColumns,
  countLackingColumns,
  createSourceTable,
  dropSourceTable,
  dropTable,
  fillTypedColumns,
  localName,
  readEmptyTables,
  readOtherwiseMerged,
  readTypedColumns,
  type StoredColumn,
  storedColumns,
} from './tables.ts'

const replicasWithinMs = 20_000
const askAgainMs = 200

/** Receives the name of a source, and whether its entries are gone or those of a new source. */
type SourceListener = (name: string, isReplaced: boolean) => void

/** The current sources, in memory. Every change is in the catalog before it takes effect. */
export class Sources {
  readonly #catalog: Catalog
  readonly #clock: Clock
  readonly #byName = new Map<string, Source>()
  /** Deleted sources whose tables may still exist. */
  readonly #leftovers = new Set<string>()
  /** Columns that were added before their source was stored, by source. */
  readonly #unfilled = new Map<string, ReadonlySet<string>>()
  readonly #dropping = new Map<string, Promise<void>>()
  readonly #onChange: SourceListener
  #readable: ReturnType<typeof readableSources> | undefined

  constructor(catalog: Catalog, clock: Clock, onChange: SourceListener = () => {}) {
    this.#catalog = catalog
    this.#onChange = onChange
    this.#clock = clock
    catalog.onChange('source', (changed) => this.#apply(changed))
  }

  /** Drops the tables of interrupted deletions, and adds missing built-in sources, as another service may do too. */
  async open(): Promise<void> {
    for (const name of this.#leftovers) await this.drop(name)
    const wanted = this.list()
    await this.#dropUnknown(new Set(wanted.map(({ name }) => name)))
    await this.#matchColumns(wanted)
    await this.#matchMerges(wanted)
    for (const source of wanted) this.#byName.set(source.name, source)
    this.#readable = undefined
    const missing = builtInSources.filter((source) => !this.find(source.name))
    if (missing.length > 0) {
      const created_at = new Date(this.#clock.now()).toISOString()
      const changes = missing.map((source) => {
        const body = { ...source, created_at, note: '' }
        return { kind: 'source', id: randomUUID(), version: 1, deleted: false, body } as const
      })
      await this.#catalog.append('wellhead', ...changes).catch((error) => {
        if (!nameTaken.is(error)) throw error
        return this.open()
      })
    }
  }

  /** Drops tables that were created for sources or checks which were never stored. Other services may be using theirs. */
  async #dropUnknown(wanted: ReadonlySet<string>): Promise<void> {
    if (this.#catalog.shared) return
    const tables = await this.#catalog.read<{ name: string }>(readEmptyTables)
    const unknown = tables.filter(({ name }) => !wanted.has(name))
    await this.#catalog.run(unknown.map(({ name }) => dropTable(name, this.topology)))
  }

  /** Compares tables with the catalog, because a change may be incomplete or already made by another service. */
  async #matchColumns(wanted: readonly Source[]): Promise<void> {
    if (wanted.length === 0) return
    const { topology } = this.#catalog
    const found = await this.#typedColumns()
    for (const source of wanted) {
      const existing = found.get(source.name) ?? new Map<string, string>()
      const columns = storedColumns(source)
      const unfilled = this.#unfilled.get(source.name) ?? new Set()
      this.#unfilled.delete(source.name)
      const added = columns.filter(({ name, comment }) => existing.get(name) !== comment)
      const kept = new Set(columns.filter((column) => !added.includes(column)).map(({ name }) => name))
      const removed = [...existing.keys()].filter((column) => !kept.has(column))
      const filled = columns.filter((column) => added.includes(column) || unfilled.has(column.name))
      if (filled.length + removed.length === 0) continue
      // No query may use a column while it changes.
      const unchanged = source.columns.filter(({ name }) => kept.has(name) && kept.has(restName(name)))
      this.#byName.set(source.name, { ...source, columns: unchanged })
      this.#readable = undefined
      await this.#catalog.run(changeTypedColumns(source.name, { added, removed }, topology))
      await this.#catalog.run(fillTypedColumns(source.name, filled, topology), { mutations_sync: 0 })
    }
  }

  async #matchMerges(wanted: readonly Source[]): Promise<void> {
    const tables = await this.#catalog.read<{ name: string }>(readOtherwiseMerged)
    const names = new Set(wanted.map(({ name }) => localName(name, this.topology)))
    const others = tables.filter(({ name }) => names.has(name))
    await this.#catalog.run(others.flatMap(({ name }) => changeMerges(name, this.topology)))
  }

  /** By source: the existing columns in order, each with its comment. */
  async #typedColumns(): Promise<Map<string, Map<string, string>>> {
    const tables = await this.#catalog.read<{ source: string; columns: [string, string][] }>(readTypedColumns)
    return new Map(tables.map(({ source, columns }) => [source, new Map(columns)]))
  }

  /** Creates the tables where they are missing. A keeper refuses a replica with another order of columns. */
  async #createTables(sources: readonly Source[]): Promise<void> {
    const { topology } = this.#catalog
    const found = sources.length > 0 ? await this.#typedColumns() : new Map()
    const missing = sources.filter(({ name }) => topology.cluster !== undefined || !found.has(name))
    await Promise.all(
      missing.map((source) => {
        const existing = [...(found.get(source.name)?.keys() ?? [])]
        const place = ({ name }: StoredColumn) =>
          existing.includes(name) ? existing.indexOf(name) : existing.length
        const columns = storedColumns(source).toSorted((one, other) => place(one) - place(other))
        return this.#catalog.run(createSourceTable(source, topology, columns))
      }),
    )
  }

  /** On a cluster, replicas get a new column one after the other. Those that are away are not waited for. */
  async #waitForColumns(source: Source): Promise<void> {
    const sql = countLackingColumns(source.name, storedColumns(source), this.topology)
    for (let waitedMs = 0; sql !== undefined && waitedMs < replicasWithinMs; waitedMs += askAgainMs) {
      const [row] = await this.#catalog.read<{ lacking: string }>(sql)
      if (Number(row?.lacking) === 0) return
      await delay(askAgainMs)
    }
  }

  get topology(): Topology {
    return this.#catalog.topology
  }

  list(): Source[] {
    return [...this.#byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** For compiling SQL. Returns a new object whenever a source has changed. */
  readable() {
    this.#readable ??= readableSources(this.list())
    return this.#readable
  }

  names(): ReadonlySet<string> {
    return new Set(this.#byName.keys())
  }

  find(name: string): Source | undefined {
    return this.#byName.get(name) ?? this.list().find((source) => source.aliases.includes(name))
  }

  /** An error names the closest source that the caller is allowed to know. */
  get(name: string, mayKnow: (source: string) => boolean = () => false): Source {
    const source = this.find(name)
    if (source) return source
    const known = this.list().filter((each) => mayKnow(each.name))
    const names = known.flatMap((each) => [each.name, ...each.aliases])
    throw sourceNotFound(name, closestName(name, names))
  }

  /** Creates the table or the columns of a version that will be stored. What is left of a failure goes at the next start. */
  async extend(before: Source | undefined, after: Source): Promise<void> {
    // A new source must not have the table of an old one, or of one that was never stored.
    if (this.#leftovers.has(after.name) || (!before && !this.#catalog.shared)) await this.drop(after.name)
    // Of several services that create the same source, only the one whose row counts may create the table.
    if (this.#catalog.shared) return
    if (!before) return this.#createTables([after])
    const existing = (await this.#typedColumns()).get(after.name)
    const added = storedColumns(after).filter(({ name }) => !existing?.has(name))
    if (added.length === 0) return
    await this.#catalog.run(changeTypedColumns(after.name, { added, removed: [] }, this.topology))
    this.#unfilled.set(after.name, new Set(added.map(({ name }) => name)))
  }

  /** The deletion is stored, so an engine that fails now does not change it. The table goes later. */
  async dropDeleted(name: string): Promise<void> {
    await this.drop(name).catch((error) => {
      if (this.#catalog.shared) throw error
    })
  }

  async drop(name: string): Promise<void> {
    // Concurrent requests wait for the same drop.
    const dropping =
      this.#dropping.get(name) ?? this.#dropTable(name).finally(() => this.#dropping.delete(name))
    this.#dropping.set(name, dropping)
    await dropping
  }

  async #dropTable(name: string): Promise<void> {
    if (!this.#byName.has(name)) {
      await this.#catalog.run(dropSourceTable(name, this.#catalog.topology), { max_table_size_to_drop: 0 })
      // Until now, queries could read the table.
      this.#onChange(name, true)
    }
    this.#leftovers.delete(name)
  }

  /** A new source can be found once its table exists. Every service tries to create the table. */
  async #apply(changed: readonly CatalogRecord[]): Promise<void> {
    const { topology } = this.#catalog
    const changes = changed.map((record) => ({ record, source: readSource(record) }))
    for (const { record, source } of changes) {
      if (!record.deleted) continue
      if (this.#byName.get(source.name)?.id === source.id) this.#byName.delete(source.name)
      this.#readable = undefined
      this.#onChange(source.name, true)
      // With several services, only the one that deletes a source drops its table; a late one might drop a new table.
      if (!this.#catalog.shared) this.#leftovers.add(source.name)
    }
    const current = changes.filter(({ record }) => !record.deleted).map(({ source }) => source)
    await this.#createTables(current.filter(({ name }) => !this.#byName.has(name)))
    await Promise.all(
      current.map(async (source) => {
        const before = this.#byName.get(source.name)
        if (before !== undefined && before.retention_days !== source.retention_days) {
          await this.#catalog.run(changeRetention(source.name, source.retention_days, topology))
        }
        if (before !== undefined && JSON.stringify(before.columns) !== JSON.stringify(source.columns)) {
          await this.#matchColumns([source])
          await this.#waitForColumns(source)
        }
        this.#byName.set(source.name, source)
        this.#readable = undefined
        this.#onChange(source.name, before === undefined)
      }),
    )
  }
}

export function readableSources(sources: readonly Source[]) {
  const typed = new Map(sources.map(({ name, columns }) => [name, columns]))
  const byAlias = new Map(sources.flatMap(({ name, aliases }) => aliases.map((alias) => [alias, name])))
  return {
    has: (name: string) => typed.has(name),
    keys: () => typed.keys(),
    aliased: (name: string) => byAlias.get(name),
    typedColumns: (source: string): readonly TypedColumn[] | undefined => typed.get(source),
  }
}
