import { randomUUID } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { invalidParameter, nameTaken, sourceNotFound } from '../base/errors.ts'
import { builtInSources, isBuiltIn } from './built-in-sources.ts'
import type { CatalogLog } from './catalog-log.ts'
import { type NewSource, type Source, type SourceChange, sourceShape } from './source.ts'
import { changeRetention, createSourceTable, dropSourceTable } from './tables.ts'

/** The sources as they are now, held in memory; every change is in the log before it holds. */
export class Sources {
  readonly #log: CatalogLog
  readonly #clock: Clock
  readonly #byName = new Map<string, Source>()
  /** Changes run one after the other. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(log: CatalogLog, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  /** Reads what is there and adds the built-in sources that are not. */
  async open(): Promise<void> {
    for (const record of await this.#log.load()) {
      if (record.kind !== 'source') continue
      const source = sourceShape.parse(record.body)
      this.#byName.set(source.name, source)
    }
    const missing = builtInSources
      .filter((source) => !this.#byName.has(source.name))
      .map((source) => this.#fresh(source))
    if (missing.length === 0) return
    await Promise.all(missing.map((source) => this.#log.run(createSourceTable(source, this.#log.topology))))
    await this.#write('wellhead', ...missing)
  }

  list(): Source[] {
    return [...this.#byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
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

  create(given: NewSource, by: string): Promise<Source> {
    return this.#alone(async () => {
      for (const name of [given.name, ...given.aliases]) if (this.find(name)) throw nameTaken(name)
      const source = this.#fresh(given)
      // The table first: a source that is listed can be written to.
      const { topology } = this.#log
      // Whatever a deletion or a creation that was cut short has left is nobody's.
      await this.#log.run([...dropSourceTable(source.name, topology), ...createSourceTable(source, topology)])
      await this.#write(by, source)
      return source
    })
  }

  change(name: string, change: SourceChange, by: string): Promise<Source> {
    return this.#alone(async () => {
      const current = this.get(name)
      for (const alias of change.aliases ?? []) {
        const owner = this.find(alias)
        if (owner && owner.name !== current.name) throw nameTaken(alias)
      }
      const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
      const source: Source = {
        ...current,
        ...given,
        version: current.version + 1,
        updated_at: new Date(this.#clock.now()).toISOString(),
      }
      if (source.retention_days !== current.retention_days) {
        await this.#log.run(changeRetention(source.name, source.retention_days, this.#log.topology))
      }
      await this.#write(by, source)
      return source
    })
  }

  delete(name: string, by: string): Promise<void> {
    return this.#alone(async () => {
      const source = this.get(name)
      if (isBuiltIn(source.name))
        throw invalidParameter('name', `${source.name} is built in and cannot be deleted.`)
      await this.#log.append({
        kind: 'source',
        id: source.id,
        version: source.version + 1,
        changed_by: by,
        deleted: true,
        body: source,
      })
      this.#byName.delete(source.name)
      await this.#log.run(dropSourceTable(source.name, this.#log.topology))
    })
  }

  #fresh(given: NewSource): Source {
    const at = new Date(this.#clock.now()).toISOString()
    return { ...given, id: randomUUID(), version: 1, created_at: at, updated_at: at }
  }

  async #write(by: string, ...sources: Source[]): Promise<void> {
    await this.#log.append(
      ...sources.map((source) => ({
        kind: 'source' as const,
        id: source.id,
        version: source.version,
        changed_by: by,
        deleted: false,
        body: source,
      })),
    )
    for (const source of sources) this.#byName.set(source.name, source)
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#last.then(work, work)
    this.#last = run.catch(() => {})
    return run
  }
}
