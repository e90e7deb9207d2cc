import { tooLarge } from '../base/errors.ts'
import { queryRows, writeJsonRows } from '../engine/json-rows.ts'
import type { AlertParts } from './alert-parts.ts'

export const writeWithinMs = 10_000
const readWithinMs = 30_000
const maxPageRows = 5_000

/** The table of states, of notifications that wait, and of the lease. The newest row of an id counts. */
export class AlertTable {
  readonly #parts: Pick<AlertParts, 'engine' | 'catalog'>

  constructor(parts: Pick<AlertParts, 'engine' | 'catalog'>) {
    this.#parts = parts
  }

  /** The rows become one part of the table, so either all of them are stored, or none. */
  insert(sequence: number, rows: readonly (readonly [string, string])[], settings = {}): Promise<void> {
    const target = { table: '_alerts', format: 'JSONEachRow', settings } as const
    const lines = writeJsonRows(rows.map(([id, body]) => ({ id, sequence, body })))
    return this.#parts.engine.insert(target, lines, { deadlineMs: writeWithinMs })
  }

  /** In pages, since notifications of earlier versions can be larger than a result. */
  async read(condition: string) {
    const { engine, catalog } = this.#parts
    const newest = 'max(_alerts.sequence) AS sequence, argMax(_alerts.body, _alerts.sequence) AS body'
    const settings = catalog.topology.replicated ? { select_sequential_consistency: 1 } : {}
    const rows: Record<'id' | 'sequence' | 'body', string>[] = []
    for (let limit = maxPageRows; ; ) {
      const sql = `SELECT id, ${newest} FROM _alerts WHERE ${condition} AND id > {after:String} GROUP BY id ORDER BY id LIMIT ${limit}`
      const query = { sql, settings, parameters: { after: rows.at(-1)?.id ?? '' } }
      try {
        const page = await queryRows<(typeof rows)[number]>(engine, query, { deadlineMs: readWithinMs })
        rows.push(...page)
        if (page.length < limit) return rows
      } catch (error) {
        if (!tooLarge.is(error) || limit === 1) throw error
        limit = Math.ceil(limit / 2)
      }
    }
  }
}
