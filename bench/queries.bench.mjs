/**
 * Queries of the three endpoints over HTTP, compared with the same statement on the same engine and with equivalent
 * queries in PostgreSQL and DuckDB; how the time grows with other projects' data; and how much data is read.
 *
 * BENCH_ROWS: entries of the smaller data set. Others are added to it until it has five times as many.
 */
import { openDuckdb } from './databases/duckdb.mjs'
import { createDuckdbTables } from './databases/duckdb-layout.mjs'
import { findPostgres, howToInstall, openPostgres } from './databases/postgres.mjs'
import { createPostgresTables } from './databases/postgres-layout.mjs'
import { measureCall } from './databases/query-sides.mjs'
import { queryTables } from './databases/query-tables.mjs'
import { numberFrom } from './support/figures.mjs'
import { openClient } from './support/http-client.mjs'
import { openService } from './support/service.mjs'
import { loadLogs, steadyProject } from './traffic/load-logs.mjs'
import { createLogs } from './traffic/realistic-logs.mjs'

const seed = 20_260_102

function casesFor(largestProject) {
  const same = { tenant: 'same size', project: steadyProject }
  const largest = { tenant: 'largest', project: largestProject }
  const of = (endpoint, { tenant, project }, given, more) => ({
    name: Object.values(given).join(),
    endpoint,
    tenant,
    parameters: { project, ...given },
    calls: 5,
    ...more,
  })
  const smallest = { isSmallest: true, calls: 20 }
  return [
    of('logs.all', same, { project_tier: 'FREE' }),
    of('logs.all', same, { project_tier: 'PRO' }),
    of('logs.all', largest, { project_tier: 'PRO' }),
    of('functions.invocation-stats', same, { interval: '1day' }, smallest),
    of('functions.invocation-stats', same, { interval: '7day' }),
    of('functions.invocation-stats', largest, { interval: '7day' }),
    of('usage.api-counts', same, { interval: 'minutely' }, smallest),
    of('usage.api-counts', same, { interval: 'daily' }),
    of('usage.api-counts', largest, { interval: 'daily' }),
  ]
}

export const about = 'querying the three endpoints'

export async function run({ engineNode, patience, emulated, choose }) {
  const smaller = numberFrom('BENCH_ROWS', choose({ full: 200_000, quick: 20_000, emulated: 5_000 }))
  const steadyRows = Math.min(smaller, Math.max(100, Math.floor(smaller / 500)))
  // The clock stands still, so that all sides query the same time window.
  const nowMs = Date.now()
  const bin = findPostgres()
  const service = await openService({ engineNode, patience, clock: { now: () => nowMs } })
  const client = openClient({ url: service.url, token: service.adminToken.token, connections: 1 })
  const stores = {}
  try {
    if (bin) {
      stores.postgres = await openPostgres(bin)
      await createPostgresTables(stores.postgres)
    }
    stores.duckdb = await openDuckdb()
    await createDuckdbTables(stores.duckdb)
    const bench = {
      service,
      client,
      stores,
      nowMs,
      rounds: 3,
      slowMs: choose({ full: 1_000, quick: 1_000, emulated: 2_000 }),
      deadlineMs: 60_000 * patience,
    }
    const logs = createLogs(seed)
    const results = []
    for (const [rows, load] of [
      [smaller, { rows: smaller, steadyRows }],
      [5 * smaller, { rows: 4 * smaller, steadyRows: 0 }],
    ]) {
      console.error(`Loading ${rows} entries`)
      await loadLogs({ logs, engine: service.engine, ...stores, nowMs, ...load })
      for (const call of casesFor(logs.projects[0])) {
        console.error(`${call.endpoint} ${call.name} (${call.tenant})`)
        results.push({ rows, call, ...(await measureCall(bench, call)) })
      }
    }
    const tables = queryTables(results, { smaller, steadyRows, emulated, postgres: bin !== undefined })
    return { tables, notes: bin ? [] : [howToInstall] }
  } finally {
    client.close()
    await stores.duckdb?.close()
    await stores.postgres?.close()
    await service.close()
  }
}
