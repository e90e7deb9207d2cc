import { invalidParameter } from '../base/errors.ts'
import { readShape } from '../base/validation.ts'
import { isWrittenByService, quarantineSource } from '../catalog/built-in-sources.ts'
import { newSourceShape, type Source, sourceChangeShape } from '../catalog/source.ts'
import type { Sources } from '../catalog/sources.ts'
import { systemTable } from '../cluster/topology.ts'
import type { Engine } from '../engine/engine.ts'
import { outwardJson, queryRows } from '../engine/json-rows.ts'
import { type SeenPath, seenPaths } from './seen-paths.ts'

const limits = { deadlineMs: 30_000 }

export interface SourcePath extends SeenPath {
  /** Share of the column that is stored, from 0 to 1; null without a column. */
  filled: number | null
}

interface SourceAdminOptions {
  engine: Engine
  sources: Sources
  /** Names of the endpoints whose SQL reads a column of a source. */
  readersOf: (source: string, column: string) => string[]
}

export class SourceAdmin {
  readonly #options: SourceAdminOptions

  constructor(options: SourceAdminOptions) {
    this.#options = options
  }

  list(): Source[] {
    return this.#options.sources.list()
  }

  /** Names of the sources that clients send to. The service writes the others itself. */
  sentTo(): string[] {
    const names = this.list().map(({ name }) => name)
    return names.filter((name) => !isWrittenByService(name) && name !== quarantineSource)
  }

  get(name: string): Source {
    return this.#options.sources.get(name, () => true)
  }

  create(source: unknown, by: string): Promise<Source> {
    return this.#options.sources.create(readShape(newSourceShape, source), by)
  }

  /** Refuses to remove a typed column that endpoints read. */
  change(name: string, fields: unknown, by: string): Promise<Source> {
    const change = readShape(sourceChangeShape, fields)
    const { name: source, columns: current } = this.#options.sources.get(name, () => true)
    const kept = new Set((change.columns ?? current).map((column) => column.name))
    for (const { name: column } of current.filter((each) => !kept.has(each.name))) {
      const readers = this.#options.readersOf(source, column)
      if (readers.length === 0) continue
      throw invalidParameter(
        'columns',
        `Column ${column} is used by ${readers.slice(0, 5).join(', ')}. Change the query first, then remove the column.`,
      )
    }
    return this.#options.sources.change(name, change, by)
  }

  /** Deletes the entries as well, so the caller has to repeat the name. */
  async delete(name: string, confirm: unknown, by: string): Promise<void> {
    const source = this.#options.sources.get(name, () => true)
    if (confirm !== source.name) {
      throw invalidParameter(
        'confirm',
        `Deleting ${source.name} deletes its entries. To confirm, send confirm=${source.name}.`,
      )
    }
    await this.#options.sources.delete(source.name, by)
  }

  /** The paths of metadata in the newest entries, with their types and typed columns. */
  async schema(name: string): Promise<SourcePath[]> {
    const source = this.#options.sources.get(name, () => true)
    const [seen, filled] = await Promise.all([
      seenPaths(source, (sql, settings = {}) => queryRows(this.#options.engine, { sql, settings }, limits)),
      this.#filled(source.name),
    ])
    return seen.map((path) => ({
      ...path,
      filled: path.column === null ? null : (filled.get(path.column) ?? 1),
    }))
  }

  async #filled(source: string): Promise<Map<string, number>> {
    const { topology } = this.#options.sources
    const sql =
      "SELECT extract(command, 'MATERIALIZE COLUMN `?(\\\\w+)') AS column, max(parts_to_do) AS left, " +
      `(SELECT count() FROM ${systemTable(topology, 'parts')} WHERE active AND database = {database:String} AND table IN ({source:String}, {local:String})) AS parts ` +
      `FROM ${systemTable(topology, 'mutations')} WHERE NOT is_done AND column != '' AND database = {database:String} AND table IN ({source:String}, {local:String}) GROUP BY column`
    const parameters = { database: this.#options.engine.database, source, local: `${source}_local` }
    const rows = await queryRows<{ column: string; left: number; parts: number }>(
      this.#options.engine,
      { sql, parameters, settings: outwardJson },
      limits,
    )
    return new Map(
      rows.map(({ column, left, parts }) => [column, 1 - Math.min(1, left / Math.max(1, parts))]),
    )
  }
}
