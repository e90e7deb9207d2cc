import { randomUUID } from 'node:crypto'
import { settleDuckdb, writeDuckdb } from '../databases/duckdb-layout.mjs'
import { openPostgresLoad, settlePostgres } from '../databases/postgres-layout.mjs'
import { command } from '../support/measured-tables.mjs'
import { createLogs, engineColumns, engineLine } from './realistic-logs.mjs'

const spanMicros = 7 * 86_400_000_000
const entriesPerInsert = 10_000
const invocationShare = 0.2

/** Has as many entries in every size of the data, where the others grow with it. */
export const steadyProject = 'steadysizedprojectxx'

/**
 * Edge entries and invocations of the last seven days, in the order of their time, into the engine and into
 * the other stores that there are. Made once for all of them; ends when each has merged what it merges in life.
 */
export async function loadLogs({ engine, postgres, duckdb, seed, rows, steadyRows, nowMs }) {
  const logs = createLogs(seed)
  const pending = { edge_logs: [], function_edge_logs: [] }
  const copy = postgres && openPostgresLoad(postgres)
  const flush = async (source) => {
    const entries = pending[source].splice(0)
    if (entries.length === 0) return
    await Promise.all([
      insert(engine, source, entries),
      copy?.write(source, entries),
      duckdb && writeDuckdb(duckdb, source, entries),
    ])
  }
  const startMicros = nowMs * 1000 - spanMicros
  const everySteady = Math.floor(rows / steadyRows)
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
  }
  for (const source of Object.keys(pending)) await flush(source)
  await copy?.end()
  for (const source of Object.keys(pending)) await command(engine, `OPTIMIZE TABLE wellhead.${source} FINAL`)
  if (postgres) await settlePostgres(postgres)
  if (duckdb) await settleDuckdb(duckdb)
  return { largestProject: logs.projects[0] }
}

function insert(engine, source, entries) {
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
    Buffer.from(entries.map(engineLine).join('')),
    { deadlineMs: 600_000 },
  )
}
