import { invalidParameter } from '../base/errors.ts'
import { readShape } from '../base/validation.ts'
import { callsSource, quarantineSource } from '../catalog/built-in-sources.ts'
import { newSourceShape, type Source, sourceChangeShape } from '../catalog/source.ts'
import type { Sources } from '../catalog/sources.ts'
import { systemTable } from '../catalog/topology.ts'
import type { Engine } from '../engine/engine.ts'
import { outwardJson, queryRows, textRows } from '../engine/json-rows.ts'
import { entryRow } from './entry-sql.ts'
import { pathExamples } from './path-examples.ts'

const limits = { deadlineMs: 30_000 }
const sampledEntries = 10_000
/** Examples come from fewer entries, because the service reads them. */
const exampleEntries = 300
const maxExampleEntryBytes = 64_000
const maxExampleBytes = 2_000_000
/** Counts a repeated key once, keeps dots inside of keys, and reads text that looks like a date as text. */
export const pathSettings = {
  ...outwardJson,
  type_json_skip_duplicated_paths: 1,
  json_type_escape_dots_in_keys: 1,
  input_format_try_infer_dates: 0,
  input_format_try_infer_datetimes: 0,
}
/** With these settings, the metadata as a value whose paths the engine lists. */
export const metadataJson = "CAST(metadata, 'JSON(max_dynamic_paths = 0)')"
const maxRecent = 1_000

export interface SourcePath {
  path: string
  types: string[]
  /** Number of sampled entries that have it. */
  entries: number
  /** Number of newest entries that were sampled. */
  sampled: number
  /** The typed column that holds it. */
  column: string | null
  /** Share of the column that is stored, from 0 to 1; null without a column. */
  filled: number | null
  /** Up to 3 distinct values as text. */
  examples: string[]
}

interface SourceAdminOptions {
  engine: Engine
  sources: Sources
  /** Names of the endpoints whose SQL reads a column of a source. */
  readersOf: (source: string, column: string) => string[]
}

export class SourceAdmin {
  readonly #options: SourceAdminOptions
  readonly #engine: Engine
  readonly #sources: Sources

  constructor(options: SourceAdminOptions) {
    this.#options = options
    this.#engine = options.engine
    this.#sources = options.sources
  }

  list(): Source[] {
    return this.#sources.list()
  }

  /** Names of the sources that clients send to. The service writes the others itself. */
  sentTo(): string[] {
    const names = this.list().map(({ name }) => name)
    return names.filter((name) => name !== callsSource && name !== quarantineSource)
  }

  get(name: string): Source {
    return this.#sources.get(name, () => true)
  }

  create(source: unknown, by: string): Promise<Source> {
    return this.#sources.create(readShape(newSourceShape, source), by)
  }

  /** Refuses to remove a typed column that endpoints read. */
  change(name: string, fields: unknown, by: string): Promise<Source> {
    const change = readShape(sourceChangeShape, fields)
    const { name: source, hot_fields: current } = this.#sources.get(name, () => true)
    const kept = new Set((change.hot_fields ?? current).map(({ column }) => column))
    for (const { column } of current.filter(({ column }) => !kept.has(column))) {
      const readers = this.#options.readersOf(source, column)
      if (readers.length === 0) continue
      throw invalidParameter(
        'hot_fields',
        `Column ${column} is used by ${readers.slice(0, 5).join(', ')}. Change the query first, then remove the column.`,
      )
    }
    return this.#sources.change(name, change, by)
  }

  /** Deletes the entries as well, so the caller has to repeat the name. */
  async delete(name: string, confirm: unknown, by: string): Promise<void> {
    const source = this.#sources.get(name, () => true)
    if (confirm !== source.name) {
      throw invalidParameter(
        'confirm',
        `Deleting ${source.name} deletes its entries. To confirm, send confirm=${source.name}.`,
      )
    }
    await this.#sources.delete(source.name, by)
  }

  /** The paths of metadata in the newest entries, with their types and typed columns. */
  async schema(name: string): Promise<SourcePath[]> {
    const source = this.#sources.get(name, () => true)
    const [seen, filled, examples] = await Promise.all([
      this.#paths(source.name),
      this.#filled(source.name),
      this.#examples(source.name),
    ])
    const columns = new Map(source.hot_fields.map(({ path, column }) => [path, column]))
    const missing = source.hot_fields.filter(({ path }) => seen.every((one) => one.path !== path))
    const sampled = seen[0]?.sampled ?? 0
    return [...seen, ...missing.map(({ path }) => ({ path, types: [], entries: 0, sampled }))]
      .map((found) => {
        const column = columns.get(found.path) ?? null
        return {
          ...found,
          column,
          filled: column === null ? null : (filled.get(column) ?? 1),
          examples: examples.get(found.path) ?? [],
        }
      })
      .sort((one, other) => (one.path < other.path ? -1 : 1))
  }

  async #paths(source: string): Promise<Pick<SourcePath, 'path' | 'types' | 'entries' | 'sampled'>[]> {
    const sql =
      `WITH _newest AS (SELECT metadata FROM \`${source}\` ORDER BY timestamp DESC LIMIT ${sampledEntries}) ` +
      "SELECT replaceAll(p.1, '%2E', '.') AS path, arraySort(groupUniqArray(p.2)) AS types, count() AS entries, " +
      '(SELECT count() FROM _newest) AS sampled FROM (SELECT arrayJoin(CAST(JSONAllPathsWithTypes(' +
      `${metadataJson}), 'Array(Tuple(String, String))')) AS p FROM _newest) ` +
      'GROUP BY path ORDER BY path'
    return queryRows(this.#engine, { sql, settings: pathSettings }, limits)
  }

  async #examples(source: string): Promise<Map<string, string[]>> {
    const sql =
      'SELECT metadata FROM (SELECT metadata, sum(length(metadata)) OVER (ORDER BY timestamp DESC ' +
      'ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS bytes FROM ' +
      `(SELECT metadata, timestamp FROM \`${source}\` ORDER BY timestamp DESC LIMIT ${exampleEntries}) ` +
      `WHERE length(metadata) <= ${maxExampleEntryBytes}) WHERE bytes <= ${maxExampleBytes}`
    const rows = await queryRows<{ metadata: string }>(this.#engine, { sql }, limits)
    return pathExamples(rows.map(({ metadata }) => metadata))
  }

  /** The stored share of columns that are being filled; all others are complete. */
  async #filled(source: string): Promise<Map<string, number>> {
    const { topology } = this.#sources
    const sql =
      "SELECT extract(command, 'MATERIALIZE COLUMN `?(\\\\w+)') AS column, max(parts_to_do) AS left, " +
      `(SELECT count() FROM ${systemTable(topology, 'parts')} WHERE active AND database = {database:String} AND table IN ({source:String}, {local:String})) AS parts ` +
      `FROM ${systemTable(topology, 'mutations')} WHERE NOT is_done AND column != '' AND database = {database:String} AND table IN ({source:String}, {local:String}) GROUP BY column`
    const parameters = { database: this.#engine.database, source, local: `${source}_local` }
    const rows = await queryRows<{ column: string; left: number; parts: number }>(
      this.#engine,
      { sql, parameters, settings: outwardJson },
      limits,
    )
    return new Map(
      rows.map(({ column, left, parts }) => [column, 1 - Math.min(1, left / Math.max(1, parts))]),
    )
  }

  /** The newest entries, newest first, as JSON written by the engine. */
  async recent(name: string, limit: unknown): Promise<Buffer> {
    const source = this.#sources.get(name, () => true)
    const count = limit === undefined ? 100 : Number(limit)
    if (!Number.isInteger(count) || count < 1 || count > maxRecent) {
      throw invalidParameter('limit', `limit must be an integer from 1 to ${maxRecent}.`)
    }
    const { body } = await this.#engine.query(
      {
        sql: `SELECT ${entryRow} FROM \`${source.name}\` ORDER BY timestamp DESC, id DESC LIMIT {count:UInt32}`,
        parameters: { count },
        format: textRows.format,
        settings: { ...outwardJson, ...textRows.array },
      },
      limits,
    )
    return body
  }
}
