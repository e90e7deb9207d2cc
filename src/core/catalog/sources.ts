import { randomUUID } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { nameTaken, sourceNotFound } from '../base/errors.ts'
import { closestName } from '../base/text/closest-name.ts'
import type { Topology } from '../engine/cluster/topology.ts'
import {
  changeRetention,
  changeTypedColumns,
  changeWordIndex,
  countLackingColumns,
  createSourceTable,
  dropSourceTable,
  dropTable,
  fillTypedColumns,
  localName,
  readEmptyTables,
  readFindsWords,
  readRetentions,
  readTypedColumns,
  readWordIndexes,
  type StoredColumn,
  storedColumns,
} from '../engine/tables.ts'
import { restName } from '../sql/paths.ts'
import type { Catalog } from './catalog.ts'
import { type ItemChange, Items, namesOf } from './items.ts'
import { type NewSource, readSource, type Source, sourceRecords, type TypedColumn } from './source.ts'

/** The current sources, in memory. Every change is in the catalog before it takes effect. */
export class Sources extends Items<Source> {
  readonly #catalog: Catalog
  readonly #clock: Clock
  readonly #builtIn: readonly NewSource[]
  /** Deleted sources whose tables may still exist. */
  readonly #leftovers = new Set<string>()
  /** Columns that were added before their source was stored, by source. */
  readonly #unfilled = new Map<string, ReadonlySet<string>>()
  readonly #dropping = new Map<string, Promise<void>>()
  #onDropped: (name: string) => void = () => {}
  #readable: { revision: number; sources: ReturnType<typeof readableSources> } | undefined
  /** Older servers have no index that finds words. */
  #findsWords = true

  constructor(catalog: Catalog, clock: Clock, builtIn: readonly NewSource[]) {
    super(catalog, sourceRecords, readSource)
    this.#catalog = catalog
    this.#clock = clock
    this.#builtIn = builtIn
  }

  /** Sets what follows from dropping the table of a source. Until then, queries could read it. */
  followDrops(onDropped: (name: string) => void): void {
    this.#onDropped = onDropped
  }

  /** Drops the tables of interrupted deletions, and adds missing built-in sources, as another service may do too. */
  async open(): Promise<void> {
    for (const name of this.#leftovers) await this.drop(name)
    const wanted = this.list()
    this.#findsWords = (await this.#catalog.read<{ finds: boolean }>(readFindsWords))[0]?.finds ?? false
    await this.#dropUnknown(new Set(wanted.map(({ name }) => name)))
    await this.#matchColumns(wanted)
    await this.#matchIndexes(wanted)
    await this.#extendRetentions(wanted)
    for (const source of wanted) this.set(source)
    const missing = this.#builtIn.filter((source) => !this.named(source.name))
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
      this.set({ ...source, columns: unchanged })
      await this.#catalog.run(changeTypedColumns(source.name, { added, removed }, topology))
      await this.#catalog.run(fillTypedColumns(source.name, filled, topology), { mutations_sync: 0 })
    }
  }

  /** Adds and drops indexes of words. Entries are not copied. */
  async #matchIndexes(wanted: readonly Source[]): Promise<void> {
    const { topology } = this
    const tables = await this.#catalog.read<{ name: string; indexed: boolean }>(readWordIndexes)
    const indexed = new Map(tables.map((table) => [table.name, table.indexed]))
    for (const source of wanted) {
      const table = localName(source.name, topology)
      const isWanted = this.#isIndexed(source)
      if (!indexed.has(table) || indexed.get(table) === isWanted) continue
      await this.#catalog.run(changeWordIndex(table, isWanted, topology), { mutations_sync: 0 })
    }
  }

  #isIndexed({ search_index: isWanted }: Source): boolean {
    return isWanted && this.#findsWords
  }

  /** By source: how many days the engine keeps entries. It may be more than the retention, which can be undone for a while. */
  async storedRetentions(): Promise<Map<string, number>> {
    const tables = await this.#catalog.read<{ source: string; days: number }>(readRetentions(this.topology))
    return new Map(tables.map(({ source, days }) => [source, Number(days)]))
  }

  /** Makes the engine keep entries as long as the sources say. A shorter retention waits: see `SourceRetention`. */
  async #extendRetentions(wanted: readonly Source[]): Promise<void> {
    const stored = await this.storedRetentions()
    for (const { name, retention_days: days } of wanted) {
      if ((stored.get(name) ?? days) < days) await this.storeRetention(name, days)
    }
  }

  /** Makes the engine delete entries that are older. */
  async storeRetention(name: string, days: number): Promise<void> {
    await this.#catalog.run(changeRetention(name, days, this.topology))
  }

  /** By source: the existing columns in order, each with its comment. */
  async #typedColumns(): Promise<Map<string, Map<string, string>>> {
    const tables = await this.#catalog.read<{ source: string; columns: [string, string][] }>(readTypedColumns)
    return new Map(tables.map(({ source, columns }) => [source, new Map(columns)]))
  }

  /** Creates the tables where they are missing. A keeper refuses a replica with another order of columns or another retention. */
  async #createTables(sources: readonly Source[]): Promise<void> {
    const { topology } = this.#catalog
    const found = sources.length > 0 ? await this.#typedColumns() : new Map()
    const missing = sources.filter(({ name }) => topology.cluster !== undefined || !found.has(name))
    const retentions =
      topology.cluster !== undefined && missing.length > 0 ? await this.storedRetentions() : new Map()
    await Promise.all(
      missing.map((source) => {
        const existing = [...(found.get(source.name)?.keys() ?? [])]
        const place = ({ name }: StoredColumn) =>
          existing.includes(name) ? existing.indexOf(name) : existing.length
        const columns = storedColumns(source).toSorted((one, other) => place(one) - place(other))
        const retention_days = retentions.get(source.name) ?? source.retention_days
        const stored = { ...source, retention_days, search_index: this.#isIndexed(source) }
        return this.#catalog.run(createSourceTable(stored, topology, columns))
      }),
    )
  }

  get topology(): Topology {
    return this.#catalog.topology
  }

  /** For compiling SQL. Returns a new object whenever a source has changed. */
  readable() {
    const { revision } = this
    if (this.#readable?.revision !== revision) {
      this.#readable = { revision, sources: readableSources(this.list()) }
    }
    return this.#readable.sources
  }

  names(): ReadonlySet<string> {
    return new Set(this.readable().keys())
  }

  /** An error names the closest source that the caller is allowed to know. */
  get(name: string, mayKnow: (source: string) => boolean = () => false): Source {
    const source = this.named(name)
    if (source) return source
    const known = this.list().filter((each) => mayKnow(each.name))
    const names = known.flatMap(namesOf)
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
    if (!this.readable().has(name)) {
      await this.#catalog.run(dropSourceTable(name, this.#catalog.topology), { max_table_size_to_drop: 0 })
      this.#onDropped(name)
    }
    this.#leftovers.delete(name)
  }

  /** A new source can be found once its table exists. Every service tries to create the table. */
  protected override async apply(changes: readonly ItemChange<Source>[]): Promise<void> {
    const { topology } = this.#catalog
    this.take(changes.filter(({ after }) => !after))
    const current = changes.filter(({ after }) => after)
    for (const { item, after } of changes) {
      // With several services, only the one that deletes a source drops its table; a late one might drop a new table.
      if (!after && !this.#catalog.shared) this.#leftovers.add(item.name)
    }
    await this.#createTables(current.filter(({ before }) => !before).map(({ item }) => item))
    await Promise.all(
      current.map(async (change) => {
        const { before, item: source } = change
        if (before && before.retention_days < source.retention_days) await this.#extendRetentions([source])
        if (before && JSON.stringify(before.columns) !== JSON.stringify(source.columns)) {
          await this.#matchColumns([source])
          // On a cluster, replicas get a new column one after the other.
          const lacking = countLackingColumns(source.name, storedColumns(source), topology)
          await this.#catalog.waitForNodes(lacking)
        }
        if (before !== undefined && before.search_index !== source.search_index) {
          await this.#matchIndexes([source])
        }
        this.take([change])
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
