/**
 * What sending logs costs: entries through POST /api/logs over the same entries straight into the engine, on the
 * same engine, in alternating rounds. Also what a burst becomes, what steady sending does to memory, and disk.
 *
 * BENCH_ROWS: entries in a round. BENCH_STEADY_SECONDS: how long the steady sending goes on.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { faithfulJson } from '../dist/ingest/log-intake.js'
import { median, numberFrom, quantile, table } from './support/figures.mjs'
import { batchesOf, engineBody, timed } from './support/log-batches.mjs'
import { command, createEdgeTable, partsOf } from './support/measured-tables.mjs'
import { createLogs, engineColumns } from './support/realistic-logs.mjs'
import { residentBytes } from './support/resident-bytes.mjs'
import { openSender } from './support/sender-process.mjs'
import { openService } from './support/service.mjs'

const seed = 20_260_101
const served = 'wellhead.edge_logs'
const cases = ['lean', 'full'].flatMap((shape) =>
  [1, 100, 1_000, 10_000].flatMap((batch) => [1, 16].map((connections) => ({ shape, batch, connections }))),
)

export async function run({ engineNode, patience, quick }) {
  const rowsPerRound = numberFrom('BENCH_ROWS', quick ? 10_000 : 100_000)
  const steadyMs = 1000 * numberFrom('BENCH_STEADY_SECONDS', quick ? 10 : 600)
  const service = await openService({ engineNode, patience })
  const sender = openSender()
  const [rounds, requestsPerConnection] = quick ? [1, 5] : [5, 50]
  const deadlineMs = 60_000 * patience
  const bench = { service, sender, rounds, requestsPerConnection, deadlineMs, rowsPerRound }
  try {
    return [
      await compare(bench),
      await burst(bench),
      await steady(bench, steadyMs),
      await disk(bench, 2 * rowsPerRound),
    ].join('\n\n')
  } finally {
    await sender.close()
    await service.close()
  }
}

/** Bodies on the one side, rows as the engine reads them on the other; both are ready before the clock runs. */
async function compare(bench) {
  const { service, sender, rounds, requestsPerConnection, rowsPerRound } = bench
  const rawTable = await createEdgeTable(service.engine, 'bench_raw')
  const rows = []
  const leftOut = []
  for (const { shape, batch, connections } of cases) {
    if (batch * connections > 2 * rowsPerRound) {
      leftOut.push(`${batch} × ${connections} (${shape})`)
      continue
    }
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
    const rates = { served: [], raw: [] }
    const times = { served: [], raw: [] }
    for (let round = 0; round <= rounds; round++) {
      const order = round % 2 === 0 ? ['raw', 'served'] : ['served', 'raw']
      for (const side of order) {
        const result = await sides[side]()
        // The first round warms both sides.
        if (round === 0) continue
        rates[side].push((1000 * requests * batch) / result.elapsedMs)
        times[side].push(...result.times)
      }
    }
    const rate = { served: median(rates.served), raw: median(rates.raw) }
    rows.push({
      entries: sent.packed ? `${batch} (gzip)` : batch,
      connections,
      bytes: Math.round(sent.bytesPerEntry),
      'raw rows/s': Math.round(rate.raw),
      'rows/s': Math.round(rate.served),
      'of raw': (rate.served / rate.raw).toFixed(2),
      'p50 ms': median(times.served).toFixed(1),
      'p99 ms': quantile(times.served, 0.99).toFixed(1),
      'p50 × raw': (median(times.served) / median(times.raw)).toFixed(2),
      'p99 × raw': (quantile(times.served, 0.99) / quantile(times.raw, 0.99)).toFixed(2),
    })
    for (const name of [served, rawTable]) await command(service.engine, `TRUNCATE TABLE ${name}`)
  }
  await command(service.engine, `DROP TABLE ${rawTable}`)
  const comparison = table('Sending logs, over inserting the same batches into the engine', rows)
  if (leftOut.length === 0) return comparison
  return `${comparison}\n\nLeft out, larger than a round of ${rowsPerRound} entries: ${leftOut.join(', ')}.`
}

function prepare({ service, sender }, load) {
  return sender.ask('prepare', { url: service.url, token: service.adminToken.token, ...load })
}

/** What the service asks of the engine, without the service. */
function insertRaw({ service, deadlineMs }, into, rows, token) {
  const settings = {
    ...faithfulJson,
    insert_deduplication_token: token,
    max_partitions_per_insert_block: 0,
  }
  const target = { table: into, columns: engineColumns, format: 'JSONEachRow', settings }
  return service.engine.insert(target, rows, { deadlineMs })
}

/** Every entry is of the same day, so each insert writes one part. */
async function burst(bench) {
  const { service, sender, rounds } = bench
  const requests = 500
  const load = { seed, shape: 'full', batch: 1, connections: requests, requests, nowMs: Date.now() }
  await prepare(bench, load)
  // The first opens the connections.
  await sender.ask('run')
  const rows = []
  for (let round = 1; round <= rounds; round++) {
    const before = await partsOf(service.engine, served)
    const { elapsedMs, times } = await sender.ask('run')
    const after = await partsOf(service.engine, served)
    rows.push({
      round,
      requests,
      'entries stored': after.rows - before.rows,
      inserts: after.last_block - before.last_block,
      'all answered after ms': elapsedMs.toFixed(0),
      'p50 ms': median(times).toFixed(0),
      'p99 ms': quantile(times, 0.99).toFixed(0),
    })
  }
  return table('A burst of single entries, each a request of its own, all at once', rows)
}

/** Not as fast as it goes but evenly, as a fleet of shippers does it. */
async function steady(bench, forMs) {
  const { service, sender } = bench
  const [connections, batch, everyMs, samples] = [16, 100, 400, 10]
  const load = { seed, shape: 'full', batch, connections, requests: connections, nowMs: Date.now() }
  await prepare(bench, load)
  const started = performance.now()
  const rows = []
  const sample = async () => {
    const { parts, rows: entries } = await partsOf(service.engine, served)
    rows.push({
      'after s': ((performance.now() - started) / 1000).toFixed(0),
      'service MB': megabytes(residentBytes(process.pid)),
      'engine MB': megabytes(residentBytes(service.engine.pid)),
      'active parts': parts,
      entries,
    })
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
  return table('Resident memory and parts while 16 connections send 100 entries every 0.4 s', rows)
}

/** Entries that all differ, of one day: repeated ones would lie beside each other and take no room. */
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
    // Bytes an entry are megabytes a million entries.
    const perMillion = (parts) => (parts.bytes / parts.rows).toFixed(1)
    rows.push({
      'entries measured': inserted.rows,
      'bytes sent an entry': Math.round(bytes / sampleRows),
      'MB a million, as inserted': perMillion(inserted),
      'MB a million, merged': perMillion(merged),
    })
  }
  return `${table('Disk of edge entries', rows)}\n\nA million is extrapolated from the entries measured.`
}

function megabytes(bytes) {
  return (bytes / 1e6).toFixed(0)
}
