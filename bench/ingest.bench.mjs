/**
 * Sending logs: entries through POST /api/logs compared with the same entries inserted directly into the same engine, in
 * alternating rounds. Also what rules cost, the inserts of a burst, memory during steady sending, and disk space.
 *
 * BENCH_ROWS: entries per round. BENCH_STEADY_SECONDS: duration of the steady sending.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { median, numberFrom, quantile } from './support/figures.mjs'
import { command, createEdgeTable, partsOf } from './support/measured-tables.mjs'
import { cpuMs } from './support/processes.mjs'
import { residentBytes } from './support/resident-bytes.mjs'
import { comparison, observation } from './support/result.mjs'
import { alternate } from './support/rounds.mjs'
import { openService } from './support/service.mjs'
import { batchesOf, engineBody, timed } from './traffic/log-batches.mjs'
import { createLogs, engineColumns } from './traffic/realistic-logs.mjs'
import { openSender } from './traffic/sender-process.mjs'

const seed = 20_260_101
const served = 'wellhead.edge_logs'
const cases = [
  { shape: 'full', batch: 1, connections: 1 },
  { shape: 'full', batch: 1, connections: 16 },
  { shape: 'full', batch: 100, connections: 16 },
  { shape: 'full', batch: 1_000, connections: 1 },
  { shape: 'full', batch: 1_000, connections: 16 },
  { shape: 'full', batch: 10_000, connections: 1 },
  { shape: 'lean', batch: 1_000, connections: 16 },
]

const rules = [
  { drop: 'request.path:/health* -response.status_code:>=500' },
  { sample: 0.1, where: 'level:debug' },
  { remove: 'request.headers.cookie' },
  { redact: 'request.headers.x_real_ip' },
  { mask: ['email', 'card'], in: ['event_message', 'request.url'] },
]
const maskAll = [{ mask: ['email', 'ip', 'card', 'jwt', 'bearer'] }]

export const about = 'sending logs'

export async function run({ engineNode, patience, choose }) {
  const rowsPerRound = numberFrom('BENCH_ROWS', choose({ full: 8_000, quick: 4_000 }))
  const steadyMs = 1000 * numberFrom('BENCH_STEADY_SECONDS', choose({ full: 10, quick: 5, emulated: 20 }))
  const service = await openService({ engineNode, patience })
  const sender = openSender()
  const rounds = 3
  const requestsPerConnection = choose({ full: 8, quick: 5 })
  const deadlineMs = 60_000 * patience
  const bench = { service, sender, rounds, requestsPerConnection, deadlineMs, rowsPerRound }
  try {
    const rows = await compare(bench)
    const tables = [
      {
        id: 'batches',
        title: 'Sending logs compared with inserting the same batches into the engine',
        compares: 'Entries per second through the API, divided by those of direct inserts.',
        rows,
      },
      await ruled(bench),
      await burst(bench),
      await steady(bench, steadyMs),
      await disk(bench, choose({ full: 30_000, quick: 10_000 })),
    ]
    return { tables }
  } finally {
    await sender.close()
    await service.close()
  }
}

/** Request bodies for the service and rows for the engine are prepared before the measurement. */
async function compare(bench) {
  const { service, sender, rounds, requestsPerConnection, rowsPerRound } = bench
  const rawTable = await createEdgeTable(service.engine, 'bench_raw')
  const rows = []
  for (const { shape, batch, connections } of cases) {
    const most = requestsPerConnection * connections
    const requests = Math.max(connections, Math.min(most, Math.ceil(rowsPerRound / batch)))
    const load = { seed, shape, batch, connections, requests, nowMs: Date.now() }
    console.error(`${requests} requests of ${batch} ${shape} entries on ${connections} connections`)
    const sent = await prepare(bench, load)
    const bodies = batchesOf(load).map(engineBody)
    const sides = {
      served: () => sender.ask('run'),
      raw: () =>
        timed(load, (number) => insertRaw(bench, rawTable, bodies[number % bodies.length], randomUUID())),
    }
    const results = await alternate(sides, rounds)
    const rate = ({ elapsedMs }) => (1000 * requests * batch) / elapsedMs
    const times = (side) => results[side].flatMap((result) => result.times)
    const timesRaw = (q) => quantile(times('served'), q) / quantile(times('raw'), q)
    rows.push(
      comparison({
        name: `${shape}: ${batch}${sent.packed ? ' (gzip)' : ''} × ${connections}`,
        unit: 'entries/s',
        sides: { wellhead: results.served.map(rate), 'raw engine': results.raw.map(rate) },
        ...(batch >= 1_000 && { aim: { atLeast: 0.75 } }),
        more: {
          'bytes an entry': Math.round(sent.bytesPerEntry),
          'p50, ms': median(times('served')),
          'p99, ms': quantile(times('served'), 0.99),
          'p50 × raw': timesRaw(0.5),
          'p99 × raw': timesRaw(0.99),
        },
      }),
    )
    for (const name of [served, rawTable]) await command(service.engine, `TRUNCATE TABLE ${name}`)
  }
  await command(service.engine, `DROP TABLE ${rawTable}`)
  return rows
}

function prepare({ service, sender }, load) {
  return sender.ask('prepare', { url: service.url, token: service.adminToken.token, ...load })
}

/** The insert that the service sends, without the service. */
function insertRaw({ service, deadlineMs }, into, rows, token) {
  const settings = {
    insert_deduplication_token: token,
    max_partitions_per_insert_block: 0,
  }
  const target = { table: into, columns: engineColumns, format: 'JSONEachRow', settings }
  return service.engine.insert(target, rows, { deadlineMs })
}

/**
 * Processor time, since the machine may do something else meanwhile. No rule drops an entry, so the engine stores the same lines for
 * all sides. Its time depends on merges, so the median of all rounds counts for each.
 */
async function ruled({ service, sender, rounds, deadlineMs }) {
  const headers = { 'X-API-KEY': service.adminToken.token, 'Content-Type': 'application/json' }
  const patch = (body) =>
    fetch(`${service.url}/api/sources/edge_logs`, { method: 'PATCH', headers, body: JSON.stringify(body) })
  const measured = async (body) => {
    const { status } = await patch({ rules: body })
    if (status !== 200) throw new Error(`Rules were refused with status ${status}.`)
    const [own, engine] = [process.cpuUsage(), cpuMs(service.engine.pid)]
    await sender.ask('run')
    const { user, system } = process.cpuUsage(own)
    return { serviceMs: (user + system) / 1000, engineMs: cpuMs(service.engine.pid) - engine }
  }
  const load = { seed, shape: 'full', batch: 1_000, connections: 4, requests: 20, nowMs: Date.now() }
  await prepare({ service, sender }, load)
  const results = await alternate(
    {
      'five rules': () => measured(rules),
      'no rules': () => measured([]),
      'masks everywhere': () => measured(maskAll),
    },
    rounds,
  )
  const entries = load.batch * load.requests
  const engineMs = median(Object.values(results).flatMap((side) => side.map((result) => result.engineMs)))
  const micros = (side, besideMs = 0) =>
    results[side].map(({ serviceMs }) => (1000 * (serviceMs + besideMs)) / entries)
  const row = (side, aim) => {
    const more = { 'service alone': median(micros(side)), 'without rules': median(micros('no rules')) }
    const sides = { 'with rules': micros(side, engineMs), 'no rules': micros('no rules', engineMs) }
    return comparison({ name: side, unit: 'µs an entry', sides, ...(aim && { aim }), more })
  }
  await service.engine.command({ sql: `TRUNCATE TABLE ${served}` }, { deadlineMs })
  await patch({ rules: [] })
  return {
    id: 'rules',
    title: 'Rules of a source',
    compares: 'Processor time of an entry with rules, divided by that without.',
    rows: [row('five rules', { atMost: 1.15 }), row('masks everywhere')],
  }
}

/** All entries are of the same day, so each insert writes one part. */
async function burst(bench) {
  const { service, sender, rounds } = bench
  const requests = 500
  const load = { seed, shape: 'full', batch: 1, connections: requests, requests, nowMs: Date.now() }
  await prepare(bench, load)
  // The first run opens the connections.
  await sender.ask('run')
  const rows = []
  for (let round = 1; round <= rounds; round++) {
    const before = await partsOf(service.engine, served)
    const { elapsedMs, times } = await sender.ask('run')
    const after = await partsOf(service.engine, served)
    rows.push(
      observation(String(round), {
        requests,
        'entries stored': after.rows - before.rows,
        inserts: after.last_block - before.last_block,
        'all answered after, ms': elapsedMs,
        'p50, ms': median(times),
        'p99, ms': quantile(times, 0.99),
      }),
    )
  }
  return {
    id: 'burst',
    title: 'A burst of concurrent single-entry requests',
    first: 'round',
    rows,
  }
}

/** Sends at an even rate, like a fleet of log shippers. */
async function steady(bench, forMs) {
  const { service, sender } = bench
  const [connections, batch, everyMs, samples] = [16, 100, 400, 10]
  const load = { seed, shape: 'full', batch, connections, requests: connections, nowMs: Date.now() }
  await prepare(bench, load)
  const started = performance.now()
  const rows = []
  const sample = async () => {
    const { parts, rows: entries } = await partsOf(service.engine, served)
    rows.push(
      observation(`${((performance.now() - started) / 1000).toFixed(0)} s`, {
        'service, MB': megabytes(residentBytes(process.pid)),
        'engine, MB': megabytes(residentBytes(service.engine.pid)),
        'active parts': parts,
        entries,
      }),
    )
  }
  await sample()
  let over = false
  const sending = sender.ask('steady', { everyMs, forMs }).finally(() => {
    over = true
  })
  while (!over) {
    await Promise.race([sending, delay(forMs / samples)])
    await sample()
  }
  await sending
  return {
    id: 'steady',
    title: `Memory and parts while ${connections} connections send ${batch} entries every ${everyMs / 1000} s`,
    first: 'after',
    rows,
  }
}

/** All entries differ and are of one day: repeated ones would compress too well. */
async function disk(bench, sampleRows) {
  const { service } = bench
  const rows = []
  for (const shape of ['lean', 'full']) {
    const name = await createEdgeTable(service.engine, 'bench_disk')
    const logs = createLogs(seed)
    const dayMicros = 86_400_000_000
    const startMicros = (Math.floor((Date.now() * 1000) / dayMicros) - 1) * dayMicros
    let bytes = 0
    for (let from = 0; from < sampleRows; from += 10_000) {
      const length = Math.min(10_000, sampleRows - from)
      const entries = Array.from({ length }, (_, index) =>
        logs.edge(startMicros + Math.floor(((from + index) * dayMicros) / sampleRows), shape),
      )
      for (const entry of entries) bytes += Buffer.byteLength(JSON.stringify(entry))
      await insertRaw(bench, name, engineBody(entries), randomUUID())
    }
    const inserted = await partsOf(service.engine, name)
    await command(service.engine, `OPTIMIZE TABLE ${name} FINAL`)
    const merged = await partsOf(service.engine, name)
    await command(service.engine, `DROP TABLE ${name}`)
    rows.push(
      comparison({
        name: `entries on disk, ${shape}`,
        unit: 'MB a million',
        // Bytes per entry equal megabytes per million entries.
        sides: { merged: [merged.bytes / merged.rows], 'as inserted': [inserted.bytes / inserted.rows] },
        ...(shape === 'lean' && { aim: { atMost: 70 } }),
        over: false,
        more: { 'entries measured': inserted.rows, 'bytes sent an entry': Math.round(bytes / sampleRows) },
      }),
    )
  }
  return {
    id: 'disk',
    title: 'Disk space of edge entries',
    compares: 'Extrapolated to a million entries.',
    rows,
  }
}

function megabytes(bytes) {
  return Math.round(bytes / 1e6)
}
