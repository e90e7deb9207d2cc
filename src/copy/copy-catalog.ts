import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { namesOf, readBody } from '../catalog/catalog.ts'
import { batchesOf, type CatalogRecord, CatalogState } from '../catalog/catalog-replay.ts'
import { type Source, sourceShape } from '../catalog/source.ts'
import { emptyOwnTable } from '../catalog/tables.ts'
import type { Engine } from '../engine/engine.ts'
import { queryRows, writeJsonRows } from '../engine/json-rows.ts'
import { CopyProblem } from './copy-problem.ts'
import type { CopySides } from './copy-table.ts'

/** A row of the catalog; the body is JSON text. */
export type CatalogRow = CatalogRecord<string>

const limits = { deadlineMs: 60_000 }
const maxInsertBytes = 16 * 2 ** 20

/** All changes, in their order. */
export function readCatalog(engine: Engine, settings: Record<string, number> = {}): Promise<CatalogRow[]> {
  const sql =
    'SELECT entry, kind, id, version, toString(changed_at) AS changed_at, changed_by, deleted, body ' +
    'FROM _catalog ORDER BY position'
  return queryRows<CatalogRow>(engine, { sql, settings }, limits)
}

/** The current sources. */
export function sourcesOf(rows: readonly CatalogRow[]): Source[] {
  const state = new CatalogState(namesOf)
  const records = rows.map((row) => ({ ...row, body: JSON.parse(row.body) as unknown }))
  for (const batch of batchesOf(records)) state.apply(...batch)
  return state
    .newest()
    .filter(({ kind, deleted }) => kind === 'source' && !deleted)
    .map((record) => readBody(record, sourceShape))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Copies the whole catalog, unless it is there. Returns the number of its rows on the other side. */
export async function copyCatalog(sides: CopySides, rows: readonly CatalogRow[]): Promise<number> {
  const { to, topology } = sides
  const read = () => readCatalog(to, topology.replicated ? { select_sequential_consistency: 1 } : {})
  const before = await read()
  if (isDeepStrictEqual(before, rows)) return rows.length
  if (before.length > 0) {
    for (const sql of emptyOwnTable('_catalog', topology)) await to.command({ sql }, limits)
  }
  for (const [start, end] of chunksOf(rows)) {
    // Of its own, because the same rows may have been inserted and removed before.
    const settings = { insert_deduplication_token: randomUUID() }
    const chunk = rows.slice(start, end).map((row, index) => ({ ...row, position: start + index }))
    await to.insert({ table: '_catalog', format: 'JSONEachRow', settings }, writeJsonRows(chunk), limits)
  }
  const copied = await read()
  if (isDeepStrictEqual(copied, rows)) return rows.length
  throw new CopyProblem(
    `The catalog of the server differs from that of the data directory: ${copied.length} of ${rows.length} changes are there. ` +
      'Run the command again.',
  )
}

/** Start and end of each insert. */
export function* chunksOf(rows: readonly CatalogRow[]): Generator<[start: number, end: number]> {
  let start = 0
  let bytes = 0
  for (const [index, { body }] of rows.entries()) {
    if (bytes > maxInsertBytes) {
      yield [start, index]
      start = index
      bytes = 0
    }
    bytes += body.length
  }
  if (start < rows.length) yield [start, rows.length]
}
