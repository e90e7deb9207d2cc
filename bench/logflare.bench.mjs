/**
 * The three requests of a log page in Supabase's Studio, list, chart and count, through the Logflare gateway. The other side is
 * Logflare's table rebuilt on PostgreSQL, read with the SQL that Logflare's translator makes of the same queries, written by hand
 * from its source code. Logflare itself does not run. Also the memory of an idle service with the gateway.
 *
 * BENCH_ROWS: entries of the last day.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { findPostgres, howToInstall, openPostgres } from './databases/postgres.mjs'
import { numberFrom } from './support/figures.mjs'
import { openClient } from './support/http-client.mjs'
import { familyOf, proportionalBytes } from './support/processes.mjs'
import { comparison, observation } from './support/result.mjs'
import { alternate } from './support/rounds.mjs'
import { openService } from './support/service.mjs'

export const about = "Studio's log page, compared with Logflare's table on PostgreSQL"

const token = 'bench'
const joins =
  'cross join unnest(metadata) as m cross join unnest(m.request) as request cross join unnest(m.response) as response'

/** Time as Logflare's translation reads it from the JSON of an entry. */
const pgTime =
  "(CAST(TO_TIMESTAMP((t.body ->> 'timestamp')::BIGINT / 1000000.0) AS TIMESTAMP WITHOUT TIME ZONE) AT TIME ZONE 'UTC')"
const pgView = (startIso) =>
  `WITH edge_logs AS (SELECT ${pgTime} AS timestamp, (t.body ->> 'id') AS id, (t.body ->> 'event_message') AS event_message, (t.body -> 'metadata') AS metadata ` +
  `FROM log_events t WHERE (t.body ->> 'project') = 'default' AND ${pgTime} > '${startIso}'::timestamptz)`
const pgStatus = "(metadata #>> '{response,status_code}')::numeric"

function casesAt(nowMs) {
  const iso = (hours) => new Date(nowMs - hours * 3_600_000).toISOString()
  return [
    {
      name: 'list, last hour',
      start: iso(1),
      sql: () =>
        `select id, edge_logs.timestamp, event_message, request.method, request.path, request.search, response.status_code from edge_logs ${joins} order by timestamp desc limit 100`,
      postgres: `SELECT id, timestamp, event_message, metadata #>> '{request,method}', metadata #>> '{request,path}', metadata #>> '{request,search}', metadata #>> '{response,status_code}' FROM edge_logs ORDER BY timestamp DESC LIMIT 100`,
    },
    {
      name: 'chart, last day by hour',
      start: iso(24),
      // Studio writes the time of the request into the SQL, so no two of them are the same.
      sql: (index) =>
        `SELECT timestamp_trunc(t.timestamp, hour) as timestamp, count(CASE WHEN NOT (response.status_code >= 500 OR response.status_code >= 400 AND response.status_code < 500) THEN 1 END) as ok_count, count(CASE WHEN response.status_code >= 500 THEN 1 END) as error_count, count(CASE WHEN response.status_code >= 400 AND response.status_code < 500 THEN 1 END) as warning_count, FROM edge_logs t ${joins} where t.timestamp > '${new Date(nowMs - 24 * 3_600_000 + index).toISOString()}' GROUP BY timestamp ORDER BY timestamp ASC`,
      postgres: `SELECT date_trunc('hour', timestamp) AS bucket, count(CASE WHEN NOT (${pgStatus} >= 400) THEN 1 END), count(CASE WHEN ${pgStatus} >= 500 THEN 1 END), count(CASE WHEN ${pgStatus} >= 400 AND ${pgStatus} < 500 THEN 1 END) FROM edge_logs GROUP BY bucket ORDER BY bucket`,
    },
    {
      name: 'count of a path, last day',
      start: iso(24),
      sql: () => `SELECT count(*) as count FROM edge_logs ${joins} where request.path like '/rest/%'`,
      postgres: `SELECT count(*) FROM edge_logs WHERE (metadata #>> '{request,path}') LIKE '/rest/%'`,
    },
  ]
}

export async function run({ engineNode, patience, choose }) {
  const entries = numberFrom('BENCH_ROWS', choose({ full: 200_000, quick: 20_000 }))
  const nowMs = Date.now()
  const bin = findPostgres()
  const layout = `Logflare's table on PostgreSQL ${bin && basename(dirname(bin))}`
  const environment = { LOGFLARE_PRIVATE_ACCESS_TOKEN: token, WELLHEAD_STATISTICS: 'off' }
  const service = await openService({ engineNode, patience, environment })
  const client = openClient({ url: service.url, token, connections: 1 })
  let postgres
  try {
    console.error(`Loading ${entries} entries`)
    await load(service.engine, entries, nowMs)
    if (bin) {
      postgres = await openPostgres(bin)
      await loadPostgres(postgres, entries, nowMs)
    }
    const rows = []
    for (const { name, start, sql, postgres: translated } of casesAt(nowMs)) {
      console.error(name)
      let index = 0
      const wellhead = async () => {
        const parameters = {
          project: 'default',
          iso_timestamp_start: start,
          iso_timestamp_end: '',
          sql: sql(index++),
        }
        const since = performance.now()
        const body = await client.call(
          `/logflare/api/endpoints/query/logs.all?${new URLSearchParams(parameters)}`,
        )
        if (!String(body).startsWith('{"result":[')) throw new Error(String(body))
        return performance.now() - since
      }
      const logflare = async () => {
        const since = performance.now()
        await postgres.query(`${pgView(start)} ${translated}`)
        return performance.now() - since
      }
      const sides = postgres ? { [layout]: logflare, Wellhead: wellhead } : { Wellhead: wellhead }
      rows.push(comparison({ name, unit: 'ms', sides: await alternate(sides, 3) }))
    }
    return {
      tables: [
        {
          id: 'studio',
          title: `Studio's log page over ${entries} entries of a day`,
          compares:
            "Time of a request to Logflare's table on PostgreSQL, divided by that of the same one through Wellhead's gateway.",
          rows,
        },
        {
          id: 'studio-memory',
          title: 'Memory at rest',
          compares:
            'Wellhead, measured here: the processes of an idle service with the gateway. Logflare was not measured: ' +
            '1.8 GB is the figure that its users report.',
          rows: [
            observation('Wellhead, measured', { MB: await memoryAtRest(environment) }),
            observation('Logflare, reported by its users', { MB: 1800 }),
          ],
        },
      ],
      notes: [
        "The SQL is what Logflare's translator makes of Studio's queries, written by hand from its source code. Logflare itself " +
          'does not run, so the time of its translation is missing.',
        ...(bin ? [] : [howToInstall]),
      ],
    }
  } finally {
    client.close()
    await postgres?.close()
    await service.close()
  }
}

/** Of a service in a process of its own, as it is published. */
async function memoryAtRest(environment) {
  const directory = mkdtempSync(join(tmpdir(), 'wellhead-bench-'))
  const main = fileURLToPath(new URL('../dist/main.js', import.meta.url))
  const child = spawn(process.execPath, [main, 'serve', '--port', '0', '--data-dir', directory], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  try {
    for await (const chunk of child.stderr) if (String(chunk).includes('listening on')) break
    await delay(10_000)
    const bytes = familyOf(child.pid).reduce((sum, pid) => sum + proportionalBytes(pid), 0)
    return Math.round(bytes / 1e6)
  } finally {
    child.kill()
    await once(child, 'exit')
    rmSync(directory, { recursive: true, force: true })
  }
}

const paths = ['/rest/v1/orders', '/auth/v1/token', '/storage/v1/object/a.png', '/realtime/v1/websocket']

async function load(engine, entries, nowMs) {
  const path = `arrayElement(['${paths.join("', '")}'], 1 + number % 4)`
  const status = 'multiIf(number % 50 = 0, 500, number % 10 = 0, 404, 200)'
  const sql =
    `INSERT INTO wellhead.edge_logs (project, id, timestamp, event_message, metadata) SELECT 'default', toString(generateUUIDv7()), ` +
    `fromUnixTimestamp64Milli(toInt64(${nowMs} - intDiv(number * 86400000, ${entries})), 'UTC'), concat('GET ', ${path}, ' ', toString(${status})), ` +
    `concat('{"request":{"method":"GET","path":"', ${path}, '","protocol":"HTTP/1.1","headers":{"user_agent":"node","referer":"-","cf_connecting_ip":"172.18.0.12"}},"response":{"status_code":', toString(${status}), '},"appname":"supabase-kong"}') ` +
    `FROM numbers(${entries})`
  await engine.command({ sql }, { deadlineMs: 600_000 })
}

async function loadPostgres(postgres, entries, nowMs) {
  const path = `(ARRAY['${paths.join("','")}'])[1 + n % 4]`
  const status = '(CASE WHEN n % 50 = 0 THEN 500 WHEN n % 10 = 0 THEN 404 ELSE 200 END)'
  const micros = `((${nowMs}::bigint - n::bigint * 86400000 / ${entries}) * 1000)`
  await postgres.query(
    'CREATE TABLE log_events (id text PRIMARY KEY, body jsonb, event_message text, timestamp timestamp);',
  )
  await postgres.query(
    `INSERT INTO log_events SELECT id, jsonb_build_object('id', id, 'project', 'default', 'timestamp', micros, 'event_message', message, 'metadata', ` +
      `jsonb_build_object('request', jsonb_build_object('method', 'GET', 'path', path, 'protocol', 'HTTP/1.1', 'headers', jsonb_build_object('user_agent', 'node', 'referer', '-', 'cf_connecting_ip', '172.18.0.12')), 'response', jsonb_build_object('status_code', status), 'appname', 'supabase-kong')), message, to_timestamp(micros / 1000000.0) AT TIME ZONE 'UTC' ` +
      `FROM (SELECT gen_random_uuid()::text AS id, ${path} AS path, ${status} AS status, ${micros} AS micros, 'GET ' || ${path} || ' ' || ${status} AS message FROM generate_series(0, ${entries - 1}) AS n) AS entries;`,
  )
  await postgres.query('CREATE INDEX ON log_events (timestamp DESC);')
  await postgres.query('ANALYZE log_events;')
}
