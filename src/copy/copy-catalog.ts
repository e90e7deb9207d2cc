import { namesOf, readBody } from '../catalog/catalog.ts'
import { batchesOf, type CatalogRecord, CatalogState } from '../catalog/catalog-replay.ts'
import { type Source, sourceShape } from '../catalog/source.ts'
import type { Engine } from '../engine/engine.ts'
import { queryRows } from '../engine/json-rows.ts'

/** A row of the catalog; the body is JSON text. */
export type CatalogRow = CatalogRecord<string>

const limits = { deadlineMs: 60_000 }

/** All changes, in their order. */
export function readCatalog(engine: Engine): Promise<CatalogRow[]> {
  const sql =
    'SELECT entry, kind, id, version, toString(changed_at) AS changed_at, changed_by, deleted, body ' +
    'FROM _catalog ORDER BY position'
  return queryRows<CatalogRow>(engine, { sql }, limits)
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
