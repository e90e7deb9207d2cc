import { randomUUID } from 'node:crypto'
import { setImmediate as pause } from 'node:timers/promises'
import { settleDuckdb, writeDuckdb } from '../databases/duckdb-layout.mjs'
import { openPostgresLoad, settlePostgres } from '../databases/postgres-layout.mjs'
import { command } from '../support/measured-tables.mjs'
import { engineColumns, engineLine } from './realistic-logs.mjs'

const spanMicros = 7 * 86_400_000_000
const entriesPerInsert = 10_000
/** So many are made before the stores get their turn again: all of them are written to from here. */
const entriesInARow = 200
const invocationShare = 0.2

/** Has as many entries in every size of the data, where the others grow with it. */
export const steadyProject = 'steadysizedprojectxx'

/**
 * Adds edge entries and invocations of the last seven days, in the order of their time, to the engine and to the other stores that
 * there are, of which `steadyRows` belong to the steady project. Entries are made once for all stores, and while the stores take those
 * before. Ends when each has merged what it merges in life.
 */
export async function loadLogs({ logs, engine, postgres, duckdb, rows, steadyRows, nowMs }) {
  const pending = { edge_logs: [], function_edge_logs: [] }
  const copy = postgres && openPostgresLoad(postgres)
  let written = Promise.resolve()
  const flush = async (source) => {
    const entries = pending[source].splice(0)
    await written
    const lines = entries.map(engineLine).join('')
    written = Promise.all([
      insert(engine, source, lines),
      copy?.write(source, entries),
      duckdb && writeDuckdb(duckdb, source, lines),
    ])
    // It is awaited later, and fails then.
    written.catch(() => {})
  }
  const startMicros = nowMs * 1000 - spanMicros
  const everySteady = steadyRows > 0 ? Math.floor(rows / steadyRows) : Number.POSITIVE_INFINITY
  for (let i = 0; i < rows; i++) {
    const micros = startMicros + Math.floor(((i + 0.5) / rows) * spanMicros)
    const number = i / everySteady
    const steady = Number.isInteger(number) && number < steadyRows
    const project = steady ? [0, steadyProject] : []
    const share = steady ? (number % 5) / 5 : (i * 0.618_034) % 1
    const source = share < invocationShare ? 'function_edge_logs' : 'edge_logs'
    const entry =
      source === 'edge_logs' ? logs.edge(micros, 'full', ...project) : logs.invocation(micros, ...project)
    pending[source].push(entry)
    if (pending[source].length === entriesPerInsert) await flush(source)
    if (i % entriesInARow === 0) await pause()
  }
  for (const source of Object.keys(pending)) await flush(source)
  await written
  await copy?.end()
  for (const source of Object.keys(pending)) await command(engine, `OPTIMIZE TABLE wellhead.${source} FINAL`)
  if (postgres) await settlePostgres(postgres)
  if (duckdb) await settleDuckdb(duckdb)
}

function insert(engine, source, lines) {
  return engine.insert(
    {
      table: `wellhead.${source}`,
      columns: engineColumns,
      format: 'JSONEachRow',
      settings: {
        insert_deduplication_token: randomUUID(),
        max_partitions_per_insert_block: 0,
      },
    },
    Buffer.from(lines),
    { deadlineMs: 600_000 },
  )
}
