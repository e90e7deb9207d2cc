import { isWrittenByService, quarantineSource } from '../catalog/built-in-sources.ts'
import type { Source } from '../catalog/source.ts'
import type { Sources } from '../catalog/sources.ts'
import { systemTable } from '../cluster/topology.ts'
import type { Engine } from '../engine/engine.ts'
import { outputJson, queryRows } from '../engine/json-rows.ts'
import { pathSettings, type SourcePath, seenPaths } from './seen-paths.ts'

const limits = { deadlineMs: 30_000 }

/** What readers and senders need to know about sources. */
export class SourceInfo {
  readonly #options: { engine: Engine; sources: Sources }

  constructor(options: { engine: Engine; sources: Sources }) {
    this.#options = options
  }

  list(): Source[] {
    return this.#options.sources.list()
  }

  get(name: string): Source {
    return this.#options.sources.get(name, () => true)
  }

  /** Names of the sources that clients send to. The service writes the others itself. */
  sentTo(): string[] {
    const names = this.list().map(({ name }) => name)
    return names.filter((name) => !isWrittenByService(name) && name !== quarantineSource)
  }

  /** The paths of metadata in the newest entries, with their types and typed columns. */
  async schema(name: string): Promise<SourcePath[]> {
    const source = this.get(name)
    const [seen, filled] = await Promise.all([
      seenPaths(source, (sql) => queryRows(this.#options.engine, { sql, settings: pathSettings }, limits)),
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
      { sql, parameters, settings: outputJson },
      limits,
    )
    return new Map(
      rows.map(({ column, left, parts }) => [column, 1 - Math.min(1, left / Math.max(1, parts))]),
    )
  }
}
