import { tooLarge } from '../base/errors.ts'
import type { Topology } from '../engine/cluster/topology.ts'
import type { Engine } from '../engine/engine.ts'
import { isQuorumBusy } from '../engine/engine-errors.ts'
import { queryRows, writeJsonRows } from '../engine/json-rows.ts'
import { type OldVersions, removeVersions } from '../engine/tables.ts'
import { sqlText } from '../sql/names.ts'
import { batchesOf, type CatalogChange, type CatalogRecord } from './catalog-state.ts'

interface CatalogRow extends Omit<CatalogRecord<string>, 'changed_at'> {
  at: string
  position: number
}

export interface VersionNumber {
  id: string
  version: number
  changedMs: number
  number: number | null
}

type Values = Record<string, string | number>

const limits = { deadlineMs: 60_000 }

/** Bytes of bodies that are read at once, far below the limit of a result. */
const pageBytes = 16 * 2 ** 20

/** Maximum bytes of a definition as JSON. */
export const maxDefinitionBytes = 256 * 2 ** 10

/** Rows that fit into a page, however long they are. */
const fewRows = pageBytes / maxDefinitionBytes

/** Older versions than the newest of a record are kept up to both limits. */
const maxVersions = 100
const maxVersionBytes = 2 ** 20

/** Versions are removed in groups, because each removal rewrites a part of the table. */
const removedAtOnce = { versions: 20, bytes: 2 ** 18 }

/** The table has microseconds, the API milliseconds. */
const rowSql =
  'SELECT entry, kind, id, version, ' +
  "concat(substring(formatDateTime(changed_at, '%FT%T.%f', 'UTC'), 1, 23), 'Z') AS at, changed_by, deleted, body, address, request_id, position FROM _catalog"

/** The newest versions of records that exist. */
const newest =
  '(kind, id, version) IN (SELECT kind, id, max(version) FROM _catalog GROUP BY kind, id) AND NOT deleted'

export type PlacedRecord = CatalogRecord & { position: number }

export function placedFrom(position: number, records: readonly CatalogRecord[]): PlacedRecord[] {
  return records.map((record, index) => ({ ...record, position: position + index }))
}

/** Whether a change can leave older versions that nobody needs. */
export function isPrunable({ version, deleted }: CatalogChange): boolean {
  return deleted || version > 2
}

export function refuseLarge({ kind, body, deleted }: CatalogChange): void {
  if (deleted || Buffer.byteLength(JSON.stringify(body)) <= maxDefinitionBytes) return
  throw tooLarge(`The ${kind} has more than ${maxDefinitionBytes / 2 ** 10} KiB as JSON. Shorten its texts.`)
}

/** The table of the catalog: rows in the order of their positions. */
export class CatalogLog {
  readonly #engine: Engine
  readonly #topology: () => Topology
  /** Records that were deleted here and whose older versions are not removed yet. */
  readonly #deleted: OldVersions[] = []

  constructor(engine: Engine, topology: () => Topology) {
    this.#engine = engine
    this.#topology = topology
  }

  async end(): Promise<number> {
    const [row] = await this.#query<{ end: number }>(
      'SELECT if(count() = 0, 0, max(position) + 1) AS end FROM _catalog',
    )
    return row?.end ?? 0
  }

  /**
   * Whether the newest version of each record is its state, so that no history needs to be read. Each writer knew all rows
   * before its own, unless two rows have the same position: a server that lost rows can cause that.
   */
  async isRegular(): Promise<boolean> {
    const [row] = await this.#query<{ regular: number }>(
      'SELECT count() = uniqExact(position) AND count() = uniqExact(kind, id, version) AS regular FROM _catalog',
    )
    return row?.regular === 1
  }

  /** The newest versions of records that exist, in pages; all of them, or those of one kind. */
  async *newest(kind?: string): AsyncGenerator<CatalogRecord[]> {
    const condition = kind === undefined ? newest : `kind = ${sqlText(kind)} AND ${newest}`
    for (const [after, end] of await this.#pages(0, condition)) yield this.#read(condition, after, end)
  }

  /** Batches of changes between two positions and since a time, in their order. */
  async *batches(from: number, end: number, sinceMs = 0): AsyncGenerator<PlacedRecord[]> {
    const isSince = `changed_at >= fromUnixTimestamp64Milli(toInt64(${sinceMs}))`
    const few = end - from <= fewRows && (await this.few(from, `position < ${end} AND ${isSince}`))
    if (few) return yield* batchesOf(few)
    const pages = await this.#pages(from, `position < ${end} AND ${isSince}`)
    let begun: PlacedRecord[] = []
    for (const [index, [after, last]] of pages.entries()) {
      const batches = batchesOf([...begun, ...(await this.#read(isSince, after, last))])
      // A page may end within a batch.
      begun = index < pages.length - 1 ? (batches.pop() ?? []) : []
      yield* batches
    }
  }

  /** The changes from a position on, in their order. Undefined: they may be too many for one page. */
  async few(from: number, condition = '1'): Promise<PlacedRecord[] | undefined> {
    const sql = `${rowSql} WHERE position >= {from:UInt64} AND ${condition} ORDER BY position, entry LIMIT ${fewRows + 1}`
    const rows = await this.#query<CatalogRow>(sql, { from })
    return rows.length <= fewRows ? rows.map(readRecord) : undefined
  }

  /** Every version that is kept, oldest first, also of what was deleted. */
  async versions(kind: string, id: string): Promise<CatalogRecord[]> {
    const condition =
      'kind = {kind:String} AND id = {id:String} ORDER BY version, position LIMIT 1 BY version'
    return (await this.#query<CatalogRow>(`${rowSql} WHERE ${condition}`, { kind, id })).map(readRecord)
  }

  /** Every version of a kind that is kept, oldest first, also of what was deleted. */
  async history(kind: string): Promise<CatalogRecord[]> {
    const condition = `kind = ${sqlText(kind)}`
    const records: CatalogRecord[] = []
    for (const [after, end] of await this.#pages(0, condition)) {
      records.push(...(await this.#read(condition, after, end)))
    }
    return records
  }

  /** A number in the body of every version of a kind that is kept, oldest first. Null: the version has no such number. */
  async numbers(kind: string, field: string): Promise<VersionNumber[]> {
    const number = `JSONExtract(body, ${sqlText(field)}, 'Nullable(Float64)')`
    return this.#query<VersionNumber>(
      `SELECT id, version, toUnixTimestamp64Milli(changed_at) AS changedMs, ${number} AS number FROM _catalog ` +
        `WHERE kind = ${sqlText(kind)} AND NOT deleted ORDER BY id, version, position LIMIT 1 BY id, version`,
    )
  }

  async version(kind: string, id: string, version: number): Promise<CatalogRecord | undefined> {
    const condition =
      'kind = {kind:String} AND id = {id:String} AND version = {version:UInt32} ORDER BY position LIMIT 1'
    const [row] = await this.#query<CatalogRow>(`${rowSql} WHERE ${condition}`, { kind, id, version })
    return row && readRecord(row)
  }

  /** Which of these ids a record has or had. */
  async knownIds(kind: string, ids: readonly string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set()
    const sql = `SELECT DISTINCT id FROM _catalog WHERE kind = ${sqlText(kind)} AND id IN (${ids.map(sqlText).join(', ')})`
    return new Set((await this.#query<{ id: string }>(sql)).map(({ id }) => id))
  }

  /** Returns false if another service is writing, so that nothing was stored. */
  async append(records: readonly CatalogRecord[], position: number, token: string | undefined) {
    const rows = placedFrom(position, records).map((record) => ({
      ...record,
      changed_at: (Date.parse(record.changed_at) / 1000).toFixed(6),
      body: JSON.stringify(record.body),
    }))
    const settings = token === undefined ? {} : { insert_deduplication_token: token }
    const target = { table: '_catalog', format: 'JSONEachRow', settings } as const
    try {
      await this.#engine.insert(target, writeJsonRows(rows), limits)
      return true
    } catch (error) {
      if (isQuorumBusy(error)) return false
      throw error
    }
  }

  /** Removes the oldest versions of records that have too many, and all older versions of deleted records. */
  async prune(changes: readonly CatalogChange[]): Promise<void> {
    const records = [...(await this.#tooMany(changes)), ...(await this.#ofDeleted(changes))]
    if (records.length === 0) return
    const sql = removeVersions(this.#topology(), records)
    await this.#engine.command({ sql, settings: { mutations_sync: 0 } }, limits)
  }

  async #ofDeleted(changes: readonly CatalogChange[]): Promise<OldVersions[]> {
    const deletions = changes.filter(({ deleted }) => deleted)
    if (deletions.length === 0) return []
    this.#deleted.push(...deletions.map(({ kind, id, version }) => ({ kind, id, last: version - 1 })))
    const [left] = await this.#query<{ versions: number; bytes: number }>(
      'SELECT count() AS versions, sum(length(body)) AS bytes FROM _catalog ' +
        `WHERE NOT deleted AND (kind, id) IN (${idsOf(this.#deleted)})`,
    )
    const { versions, bytes } = left ?? { versions: 0, bytes: 0 }
    const isEnough = versions >= removedAtOnce.versions || bytes >= removedAtOnce.bytes
    return isEnough ? this.#deleted.splice(0) : []
  }

  async #tooMany(changes: readonly CatalogChange[]): Promise<OldVersions[]> {
    const changed = changes.filter((change) => isPrunable(change) && !change.deleted)
    if (changed.length === 0) return []
    return this.#query<OldVersions>(
      'SELECT kind, id, max(version) AS last FROM (' +
        'SELECT kind, id, version, length(body) AS size, row_number() OVER newer AS place, sum(size) OVER newer AS bytes ' +
        `FROM _catalog WHERE (kind, id) IN (${idsOf(changed)}) ` +
        'WINDOW newer AS (PARTITION BY kind, id ORDER BY version DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)' +
        `) WHERE place > 1 AND (place > ${maxVersions} OR bytes > ${maxVersionBytes}) ` +
        `GROUP BY kind, id HAVING count() >= ${removedAtOnce.versions} OR sum(size) >= ${removedAtOnce.bytes}`,
    )
  }

  /** The first and last position of each page of rows, the first exclusive. */
  async #pages(from: number, condition: string): Promise<[after: number, end: number][]> {
    const rows = await this.#query<{ end: number }>(
      'SELECT max(position) AS end FROM (SELECT position, ' +
        `intDiv(sum(greatest(length(body), 256)) OVER (ORDER BY position ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW), ${pageBytes}) AS page ` +
        `FROM _catalog WHERE position >= {from:UInt64} AND ${condition}) GROUP BY page ORDER BY page`,
      { from },
    )
    return rows.map(({ end }, index) => [rows[index - 1]?.end ?? from - 1, end])
  }

  async #read(condition: string, after: number, end: number): Promise<PlacedRecord[]> {
    const sql = `${rowSql} WHERE position > {after:Int64} AND position <= {end:UInt64} AND ${condition} ORDER BY position, entry`
    return (await this.#query<CatalogRow>(sql, { after, end })).map(readRecord)
  }

  #query<Row>(sql: string, parameters: Values = {}): Promise<Row[]> {
    const settings = {
      output_format_json_quote_64bit_integers: 0,
      ...(this.#topology().replicated && { select_sequential_consistency: 1 }),
    }
    return queryRows<Row>(this.#engine, { sql, parameters, settings }, limits)
  }
}

function idsOf(records: readonly { kind: string; id: string }[]): string {
  return records.map(({ kind, id }) => `(${sqlText(kind)}, ${sqlText(id)})`).join(', ')
}

function readRecord({ at, body, ...row }: CatalogRow): PlacedRecord {
  try {
    return { ...row, changed_at: at, body: JSON.parse(body) as unknown }
  } catch {
    throw new Error(
      `The catalog is damaged: version ${row.version} of ${row.kind} ${row.id} is not valid JSON.`,
    )
  }
}
