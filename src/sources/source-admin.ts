import { invalidParameter } from '../base/errors.ts'
import { readShape } from '../base/validation.ts'
import { newSourceShape, type Source, sourceChangeShape } from '../catalog/source.ts'
import type { Sources } from '../catalog/sources.ts'
import { database } from '../catalog/tables.ts'
import type { Engine } from '../engine/engine.ts'
import { outwardJson, readJsonRows, textRows } from '../engine/json-rows.ts'
import { entryRow } from './entry-row.ts'

const limits = { deadlineMs: 30_000 }
/** The paths of a source are read off its newest entries. */
const sampledEntries = 10_000
/** A key that comes twice counts once, a dot inside of a key is no level, and text stays text even if it looks like a date. */
const readingKinds = {
  ...outwardJson,
  type_json_skip_duplicated_paths: 1,
  json_type_escape_dots_in_keys: 1,
  input_format_try_infer_dates: 0,
  input_format_try_infer_datetimes: 0,
}
const maxRecent = 1_000

export interface SourcePath {
  path: string
  types: string[]
  /** How many of the sampled entries have it. */
  entries: number
  /** How many of the newest entries were sampled. */
  sampled: number
  /** The typed column that holds it. */
  column: string | null
  /** How much of the column is stored for older entries, from 0 to 1; null where there is none. */
  filled: number | null
}

export interface SourceAdminOptions {
  engine: Engine
  sources: Sources
  /** Names of the saved endpoints whose SQL reads a column of a source. */
  readersOf: (source: string, column: string) => string[]
}

/** Reading and managing sources, for whoever may. */
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

  get(name: string): Source {
    return this.#sources.get(name)
  }

  create(given: unknown, by: string): Promise<Source> {
    return this.#sources.create(readShape(newSourceShape, given), by)
  }

  /** Entries that are stored have the values of a new typed column at once; a column that endpoints read stays. */
  change(name: string, given: unknown, by: string): Promise<Source> {
    const change = readShape(sourceChangeShape, given)
    const { name: source, hot_fields: fields } = this.#sources.get(name)
    const kept = change.hot_fields && new Set(change.hot_fields.map(({ column }) => column))
    for (const { column } of kept ? fields.filter((field) => !kept.has(field.column)) : []) {
      const readers = this.#options.readersOf(source, column)
      if (readers.length === 0) continue
      throw invalidParameter(
        'hot_fields',
        `Column ${column} is used by ${readers.slice(0, 5).join(', ')}. Change the query first, then remove the column.`,
      )
    }
    return this.#sources.change(name, change, by)
  }

  /** With its data; so the name has to be said twice. */
  async delete(name: string, confirm: unknown, by: string): Promise<void> {
    const source = this.#sources.get(name)
    if (confirm !== source.name) {
      throw invalidParameter(
        'confirm',
        `Deleting ${source.name} deletes its entries: send confirm=${source.name}.`,
      )
    }
    await this.#sources.delete(source.name, by)
  }

  /** Paths of metadata in the newest entries with their types, and the typed columns. */
  async schema(name: string): Promise<SourcePath[]> {
    const source = this.#sources.get(name)
    const [seen, filled] = await Promise.all([this.#paths(source.name), this.#filled(source.name)])
    const columns = new Map(source.hot_fields.map(({ path, column }) => [path, column]))
    const missing = source.hot_fields.filter(({ path }) => seen.every((one) => one.path !== path))
    const sampled = seen[0]?.sampled ?? 0
    return [...seen, ...missing.map(({ path }) => ({ path, types: [], entries: 0, sampled }))]
      .map((found) => {
        const column = columns.get(found.path) ?? null
        return { ...found, column, filled: column === null ? null : (filled.get(column) ?? 1) }
      })
      .sort((one, other) => (one.path < other.path ? -1 : 1))
  }

  async #paths(source: string): Promise<Pick<SourcePath, 'path' | 'types' | 'entries' | 'sampled'>[]> {
    const { body } = await this.#engine.query(
      {
        sql:
          `WITH newest AS (SELECT metadata FROM ${database}.\`${source}\` ORDER BY timestamp DESC LIMIT ${sampledEntries}) ` +
          "SELECT replaceAll(p.1, '%2E', '.') AS path, arraySort(groupUniqArray(p.2)) AS types, count() AS entries, " +
          '(SELECT count() FROM newest) AS sampled FROM (SELECT arrayJoin(CAST(JSONAllPathsWithTypes(' +
          "CAST(metadata, 'JSON(max_dynamic_paths = 0)')), 'Array(Tuple(String, String))')) AS p FROM newest) " +
          'GROUP BY path ORDER BY path',
        format: 'JSONEachRow',
        settings: readingKinds,
      },
      limits,
    )
    return readJsonRows(body)
  }

  /** Shares of the columns that are being filled; a column that is not here is whole. */
  async #filled(source: string): Promise<Map<string, number>> {
    const { body } = await this.#engine.query(
      {
        sql:
          "SELECT extract(command, 'MATERIALIZE COLUMN `?(\\\\w+)') AS column, max(parts_to_do) AS left, " +
          '(SELECT count() FROM system.parts WHERE active AND database = {database:String} AND table IN ({source:String}, {local:String})) AS parts ' +
          "FROM system.mutations WHERE NOT is_done AND column != '' AND database = {database:String} AND table IN ({source:String}, {local:String}) GROUP BY column",
        parameters: { database, source, local: `${source}_local` },
        format: 'JSONEachRow',
        settings: outwardJson,
      },
      limits,
    )
    const rows = readJsonRows<{ column: string; left: number; parts: number }>(body)
    return new Map(
      rows.map(({ column, left, parts }) => [column, 1 - Math.min(1, left / Math.max(1, parts))]),
    )
  }

  /** The newest entries, newest first, as the JSON that the engine wrote. */
  async recent(name: string, limit: unknown): Promise<Buffer> {
    const source = this.#sources.get(name)
    const count = limit === undefined ? 100 : Number(limit)
    if (!Number.isInteger(count) || count < 1 || count > maxRecent) {
      throw invalidParameter('limit', `limit must be a whole number from 1 to ${maxRecent}.`)
    }
    const { body } = await this.#engine.query(
      {
        sql: `SELECT ${entryRow} FROM ${database}.\`${source.name}\` ORDER BY timestamp DESC, id DESC LIMIT {count:UInt32}`,
        parameters: { count },
        format: textRows.format,
        settings: { ...outwardJson, ...textRows.array },
      },
      limits,
    )
    return body
  }
}
