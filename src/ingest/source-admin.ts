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
  /** How many of the entries that were looked at have it. */
  entries: number
}

/** Reading and managing sources, for whoever may. */
export class SourceAdmin {
  readonly #engine: Engine
  readonly #sources: Sources

  constructor(engine: Engine, sources: Sources) {
    this.#engine = engine
    this.#sources = sources
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

  change(name: string, given: unknown, by: string): Promise<Source> {
    return this.#sources.change(name, readShape(sourceChangeShape, given), by)
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

  /** Paths and types of metadata that were seen in the newest entries. */
  async schema(name: string): Promise<SourcePath[]> {
    const source = this.#sources.get(name)
    const { body } = await this.#engine.query(
      {
        sql:
          "SELECT replaceAll(p.1, '%2E', '.') AS path, arraySort(groupUniqArray(p.2)) AS types, count() AS entries FROM (SELECT arrayJoin(" +
          "CAST(JSONAllPathsWithTypes(CAST(metadata, 'JSON(max_dynamic_paths = 0)')), 'Array(Tuple(String, String))')) AS p " +
          `FROM (SELECT metadata FROM ${database}.\`${source.name}\` ORDER BY timestamp DESC LIMIT ${sampledEntries})) ` +
          'GROUP BY path ORDER BY path',
        format: 'JSONEachRow',
        settings: readingKinds,
      },
      limits,
    )
    return readJsonRows<SourcePath>(body)
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
