/**
 * Active parts of sources and the merges of an entry: a stream of small inserts, a backfill of seven days, and a day of
 * statistics. Also the parts that each shipped endpoint reads. All of these are counts, so they are comparable everywhere.
 *
 * Inserts follow each other as fast as they are acknowledged. The engine merges by real time, so it has less time for merges
 * than in a stream of an insert a second.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { lineOf, RequestEntries } from '../build/features/statistics/request-statistics.js'
import { partsRead, planOf, sizeOf, statementsOf } from './databases/query-sides.mjs'
import { openClient } from './support/http-client.mjs'
import { command, partsOf, readRows } from './support/measured-tables.mjs'
import { comparison, observation } from './support/result.mjs'
import { openService } from './support/service.mjs'
import { createLogs, engineColumns } from './traffic/realistic-logs.mjs'

const seed = 20_260_103
const dayMs = 86_400_000
/** An idle source has its days plus at most this many parts; so has a source under load. */
const beyondDays = 9

export const about = 'active parts, and what merges cost'

export async function run({ engineNode, patience, choose }) {
  const nowMs = Date.now()
  const service = await openService({ engineNode, patience, environment: { WELLHEAD_STATISTICS: 'off' } })
  const client = openClient({ url: service.url, token: service.adminToken.token, connections: 1 })
  const logs = createLogs(seed)
  const post = (source, entries) =>
    client.call(`/api/logs?source=${source}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(entries),
    })
  const bench = { service, settleMs: 60_000 * patience, waitMs: 1_000 * patience }
  const batchAt = (atMs, forMs, entries, make) =>
    Array.from({ length: entries }, (_, i) => make(Math.floor((atMs + (i * forMs) / entries) * 1000)))
  try {
    // Noon of the day before yesterday: a day that midnight does not divide.
    const noonMs = Math.floor(nowMs / dayMs) * dayMs - 1.5 * dayMs
    const stream = choose({ full: 300, quick: 100 })
    const backfill = choose({ full: 100, quick: 50 })
    const statistics = choose({ full: 300, quick: 100 })
    const rows = [
      await watch(bench, {
        name: `active parts, ${stream} inserts of 100 entries`,
        source: 'edge_logs',
        inserts: stream,
        insert: (i) =>
          post(
            'edge_logs',
            batchAt(noonMs + i * 1000, 1000, 100, (micros) => logs.edge(micros, 'full')),
          ),
      }),
      await watch(bench, {
        name: `active parts, seven days in ${backfill} batches`,
        source: 'function_edge_logs',
        isOverAtEnd: true,
        inserts: backfill,
        insert: (i) => {
          const forMs = (7 * dayMs) / backfill
          const atMs = nowMs - 7 * dayMs + i * forMs
          return post(
            'function_edge_logs',
            batchAt(atMs, forMs, 500, (micros) => logs.invocation(micros)),
          )
        },
      }),
      await watch(bench, {
        name: `active parts, a day of statistics in ${statistics} inserts`,
        source: 'endpoint_requests',
        inserts: statistics,
        insert: (i) => insertCalls(service.engine, noonMs - dayMs / 2 + (i * dayMs) / statistics),
      }),
    ]
    return {
      tables: [
        {
          id: 'parts',
          title: 'Active parts of a source',
          compares:
            'Parts beyond one for each day of the data: the most during a stream, and those when quiet after a backfill.',
          rows,
        },
        {
          id: 'reads',
          title: 'Statements of the shipped endpoints, and the parts that they read',
          compares:
            'SELECTs inside each other and characters of the statement that a request sends, and its plan.',
          first: 'endpoint',
          rows: await readsOf(service, client),
        },
      ],
      notes: ['"When quiet" stands for ten minutes without an insert: the table is told to wait one second.'],
    }
  } finally {
    client.close()
    await service.close()
  }
}

/** Ten requests of one endpoint, as the service stores them. */
function insertCalls(engine, atMs) {
  const subject = {
    endpoint: 'logs.all',
    endpointId: randomUUID(),
    version: 1,
    tokenId: 'bench',
    project: 'bench',
    method: 'GET',
    format: 'json',
  }
  const entries = new RequestEntries(100)
  for (let i = 0; i < 10; i++) {
    const figures = { endedAt: 0, totalMs: 20 + i, engineMs: 10, rows: 100, bytes: 10_000, rowsRead: 0 }
    entries.add({ subject, status: 200, cache: 'none', code: '', detail: undefined, ...figures }, atMs)
  }
  const target = { table: 'wellhead.endpoint_requests', columns: engineColumns, format: 'JSONEachRow' }
  const settings = { insert_deduplication_token: randomUUID() }
  return engine.insert({ ...target, settings }, Buffer.from(entries.list().map(lineOf).join('')), {
    deadlineMs: 60_000,
  })
}

async function watch(
  { service: { engine }, settleMs, waitMs },
  { name, source, inserts, insert, isOverAtEnd },
) {
  console.error(name)
  const table = `wellhead.${source}`
  const beyond = []
  for (let i = 0; i < inserts; i++) {
    await insert(i)
    if (i % 10 === 9) {
      const { parts, days } = await partsOf(engine, table)
      beyond.push(parts - days)
    }
  }
  const settled = await settledParts(engine, table, { settleMs, waitMs })
  const merges = await mergesOf(engine, table)
  await command(engine, `ALTER TABLE ${table} MODIFY SETTING min_age_to_force_merge_seconds = 1`)
  const until = performance.now() + settleMs
  let quiet = settled
  while (quiet.parts > quiet.days && performance.now() < until) {
    await delay(waitMs)
    quiet = await partsOf(engine, table)
  }
  return comparison({
    name,
    sides: { 'beyond days': [isOverAtEnd ? quiet.parts - quiet.days : Math.max(...beyond)] },
    aim: { atMost: beyondDays },
    more: {
      days: settled.days,
      entries: settled.rows,
      'most beyond days': Math.max(...beyond),
      'when merges ended': settled.parts,
      'when quiet': quiet.parts,
      'merges of an entry': merges,
      'merges when quiet': await mergesOf(engine, table),
    },
  })
}

/** Waits until the number of parts stays the same. */
async function settledParts(engine, table, { settleMs, waitMs }) {
  const until = performance.now() + settleMs
  let last = await partsOf(engine, table)
  for (let same = 0; same < 3 && performance.now() < until; ) {
    await delay(waitMs)
    const parts = await partsOf(engine, table)
    same = parts.parts === last.parts ? same + 1 : 0
    last = parts
  }
  return last
}

/** Merges behind an entry, at most: the level of its part. */
async function mergesOf(engine, table) {
  const [database, name] = table.split('.')
  const [row] = await readRows(
    engine,
    `SELECT sum(rows * level) / sum(rows) AS merges FROM system.parts WHERE active AND database = '${database}' AND table = '${name}'`,
  )
  return row.merges
}

async function readsOf(service, client) {
  const endpoints = JSON.parse(await client.call('/api/endpoints'))
  const project = createLogs(seed).projects[0]
  const rows = []
  for (const { name } of endpoints) {
    const interval = name === 'usage.api-counts' ? 'daily' : '7day'
    const parameters = new URLSearchParams({ project, interval, project_tier: 'PRO' })
    const [statement] = await statementsOf(service.engine, () =>
      client.call(`/api/endpoints/query/${name}?${parameters}`, {
        headers: { 'Cache-Control': 'no-cache' },
      }),
    )
    const plan = await planOf(service.engine, statement, 60_000)
    rows.push(observation(name, { ...sizeOf(statement.sql), ...partsRead(plan) }))
  }
  return rows
}
