import { randomUUID } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { invalidParameter, nameTaken, sourceNotFound } from '../base/errors.ts'
import { builtInSources, isBuiltIn } from './built-in-sources.ts'
import { type Catalog, lastWins, readBody } from './catalog.ts'
import type { CatalogRecord } from './catalog-replay.ts'
import { shippedColumnsId } from './migrations.ts'
import { maxHotFields, type NewSource, type Source, type SourceChange, sourceShape } from './source.ts'
import {
  changeRetention,
  changeTypedColumns,
  columnComment,
  createSourceTable,
  dropSourceTable,
  fillTypedColumns,
  readTypedColumns,
} from './tables.ts'

export interface ReadableSources {
  has(name: string): boolean
  columnOf(source: string, path: string): string | undefined
}

/** The sources as they are now, held in memory; every change is in the log before it holds. */
export class Sources {
  readonly #catalog: Catalog
  readonly #clock: Clock
  readonly #byName = new Map<string, Source>()
  /** Names of deleted sources whose tables may be there still. */
  readonly #left = new Set<string>()
  readonly #dropping = new Map<string, Promise<void>>()
  readonly #onChange: (name: string) => void
  #readable: ReadableSources | undefined

  constructor(catalog: Catalog, clock: Clock, onChange: (name: string) => void = () => {}) {
    this.#catalog = catalog
    this.#onChange = onChange
    this.#clock = clock
    catalog.onChange('source', (changed) => this.#take(changed))
  }

  /**
   * Adds the built-in sources that are not there; another service may do the same at the same time. Tables that a
   * deletion left, because the service ended in between, go now.
   */
  async open(): Promise<void> {
    for (const name of this.#left) await this.#drop(name)
    const wanted = this.list()
    await this.#matchColumns(wanted)
    for (const source of wanted) this.#byName.set(source.name, source)
    this.#readable = undefined
    const missing = builtInSources.filter((source) => !this.find(source.name))
    if (missing.length > 0) {
      await this.#write('wellhead', ...missing.map((source) => this.#fresh(source))).catch((error) => {
        if (!nameTaken.is(error)) throw error
        return this.open()
      })
    }
    await this.#catalog.once(shippedColumnsId, () => lastWins(undefined, () => this.#addShippedColumns()))
  }

  /** Built-in sources of an older version get, once, the columns that they would be made with now. */
  async #addShippedColumns(): Promise<void> {
    const changes = builtInSources.flatMap((shipped) => {
      const current = this.get(shipped.name)
      const known = new Set(current.hot_fields.flatMap(({ column, path }) => [column, path]))
      const missing = shipped.hot_fields.filter(({ column, path }) => !known.has(column) && !known.has(path))
      const added = missing.slice(0, Math.max(0, maxHotFields - current.hot_fields.length))
      return added.length === 0
        ? []
        : [this.#changed(current, { hot_fields: [...current.hot_fields, ...added] })]
    })
    if (changes.length > 0) await this.#write('wellhead', ...changes)
  }

  /**
   * Gives tables the typed columns that the catalog says. Looks at what is there, since a change may have been interrupted, and
   * another service may have made it already.
   */
  async #matchColumns(wanted: readonly Source[]): Promise<void> {
    if (wanted.length === 0) return
    const { topology } = this.#catalog
    const tables = await this.#catalog.read<{ source: string; columns: [string, string][] }>(readTypedColumns)
    const found = new Map(tables.map(({ source, columns }) => [source, new Map(columns)]))
    for (const source of wanted) {
      const there = found.get(source.name) ?? new Map<string, string>()
      const added = source.hot_fields.filter((field) => there.get(field.column) !== columnComment(field))
      const kept = source.hot_fields.filter((field) => !added.includes(field))
      const removed = [...there.keys()].filter((column) => kept.every((field) => field.column !== column))
      if (added.length + removed.length === 0) continue
      // Nothing may read a column through its path while it is changed.
      this.#byName.set(source.name, { ...source, hot_fields: kept })
      this.#readable = undefined
      await this.#catalog.run(changeTypedColumns(source.name, { added, removed }, topology))
      await this.#catalog.run(fillTypedColumns(source.name, added, topology), { mutations_sync: 0 })
    }
  }

  list(): Source[] {
    return [...this.#byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /**
   * The sources that SQL can read, and for each the column that holds the text at a path of metadata. Another object
   * whenever a source changes.
   */
  readable(): ReadableSources {
    this.#readable ??= readableSources(this.list())
    return this.#readable
  }

  names(): ReadonlySet<string> {
    return new Set(this.#byName.keys())
  }

  /** By name or by one of the names that other senders use. */
  find(name: string): Source | undefined {
    return this.#byName.get(name) ?? this.list().find((source) => source.aliases.includes(name))
  }

  get(name: string): Source {
    const source = this.find(name)
    if (!source) throw sourceNotFound(name)
    return source
  }

  async create(given: NewSource, by: string): Promise<Source> {
    const source = this.#fresh(given)
    // A new source must not come with the entries of an old one.
    if (this.#left.has(source.name)) await this.#drop(source.name)
    await this.#write(by, source)
    return source
  }

  change(name: string, change: SourceChange, by: string): Promise<Source> {
    const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
    return lastWins(undefined, async () => {
      const source = this.#changed(this.get(name), given)
      await this.#write(by, source)
      return source
    })
  }

  #changed(current: Source, change: Partial<NewSource>): Source {
    const at = new Date(this.#clock.now()).toISOString()
    return { ...current, ...change, version: current.version + 1, updated_at: at }
  }

  async delete(name: string, by: string): Promise<void> {
    const source = await lastWins(undefined, async () => {
      const current = this.get(name)
      if (isBuiltIn(current.name)) {
        throw invalidParameter('name', `${current.name} is built in and cannot be deleted.`)
      }
      const { id, version } = current
      await this.#catalog.append(by, {
        kind: 'source',
        id,
        version: version + 1,
        deleted: true,
        body: current,
      })
      return current
    })
    this.#left.add(source.name)
    await this.#drop(source.name)
  }

  /** Whatever its size: whoever deletes a source has said its name twice. */
  async #drop(name: string): Promise<void> {
    // Once at a time: whoever makes the source again waits for the same, and not for one of its own.
    const dropping =
      this.#dropping.get(name) ?? this.#dropTable(name).finally(() => this.#dropping.delete(name))
    this.#dropping.set(name, dropping)
    await dropping
  }

  async #dropTable(name: string): Promise<void> {
    if (!this.#byName.has(name)) {
      await this.#catalog.run(dropSourceTable(name, this.#catalog.topology), { max_table_size_to_drop: 0 })
    }
    this.#left.delete(name)
  }

  #fresh(given: NewSource): Source {
    const at = new Date(this.#clock.now()).toISOString()
    return { ...given, id: randomUUID(), version: 1, created_at: at, updated_at: at }
  }

  #write(by: string, ...sources: Source[]): Promise<void> {
    return this.#catalog.append(
      by,
      ...sources.map((source) => ({
        kind: 'source' as const,
        id: source.id,
        version: source.version,
        deleted: false,
        body: source,
      })),
    )
  }

  /**
   * A source that is gone can no longer be found; a new one can be, once its table is there. It is made by each service
   * that hears of it; the second one finds it.
   */
  async #take(changed: readonly CatalogRecord[]): Promise<void> {
    const { topology } = this.#catalog
    const readings = changed.map((record) => ({ record, source: readBody(record, sourceShape) }))
    for (const { record, source } of readings) {
      if (!record.deleted) continue
      if (this.#byName.get(source.name)?.id === source.id) this.#byName.delete(source.name)
      this.#readable = undefined
      this.#onChange(source.name)
      // Where there are others, the one who deletes it drops it: a service that comes late would drop what was made again.
      if (!this.#catalog.shared) this.#left.add(source.name)
    }
    await Promise.all(
      readings.map(async ({ record, source }) => {
        if (record.deleted) return
        const before = this.#byName.get(source.name)
        if (before === undefined) await this.#catalog.run(createSourceTable(source, topology))
        if (before !== undefined && before.retention_days !== source.retention_days) {
          await this.#catalog.run(changeRetention(source.name, source.retention_days, topology))
        }
        if (before !== undefined && !sameFields(before, source)) await this.#matchColumns([source])
        this.#byName.set(source.name, source)
        this.#readable = undefined
        if (before === undefined) this.#onChange(source.name)
      }),
    )
  }
}

function sameFields(one: Source, other: Source): boolean {
  return JSON.stringify(one.hot_fields) === JSON.stringify(other.hot_fields)
}

function readableSources(sources: readonly Source[]): ReadableSources {
  const columns = new Map(
    sources.map(({ name, hot_fields: fields }) => {
      const texts = fields.filter(({ type }) => type === 'text')
      return [name, new Map(texts.map(({ path, column }) => [path, column]))]
    }),
  )
  return {
    has: (name) => columns.has(name),
    columnOf: (source, path) => columns.get(source)?.get(path),
  }
}
