/**
 * "SQL as HTTP": one row by its key over 50 connections, cached and uncached, beside the published figure of PostgREST
 * (supabase/benchmarks), which had two cores, too.
 *
 * BENCH_ROWS: number of rows. BENCH_SECONDS: length of a round.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atTheEnd } from './support/at-the-end.mjs'
import { startService, token } from './support/called.mjs'
import { median, numberFrom, quantile } from './support/figures.mjs'
import { openClient } from './support/http-client.mjs'
import { cpuMs, familyOf } from './support/processes.mjs'
import { comparison } from './support/result.mjs'
import { alternate } from './support/rounds.mjs'
import { loadSockets } from './support/socket-load.mjs'

const connections = 50
/** Rows that are requested: filling the cache with all of them takes minutes. */
const requestedRows = 1_000
const publishedPerSecond = 2_578
const source = 'bench_rows'
const sides = ['cached', 'uncached']

export const about = 'one row by its key, over HTTP'

export async function run({ engineNode, patience, choose }) {
  const rows = numberFrom('BENCH_ROWS', choose({ full: 10_000, quick: 500 }))
  const seconds = numberFrom('BENCH_SECONDS', choose({ full: 4, quick: 1 }))
  const rounds = choose({ full: 3, quick: 1 })
  const scratch = mkdtempSync(join(tmpdir(), 'wellhead-bench-'))
  const remove = atTheEnd(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 5 }))
  const service = await startService(scratch, engineNode, patience)
  try {
    await fill(service.url, rows)
    const pids = familyOf(service.pid)
    const usedMs = () => pids.reduce((sum, pid) => sum + cpuMs(pid), 0)
    const pathsOf = (side) => {
      const step = Math.max(1, Math.floor(rows / requestedRows))
      return (number) => `/api/endpoints/query/bench.${side}?key=k${(number * step) % rows}`
    }
    const measure = async (side) => {
      const before = usedMs()
      const load = { url: service.url, token, connections, seconds, pathOf: pathsOf(side) }
      const { times, refused, perSecond } = await loadSockets(load)
      return {
        perSecond,
        refused,
        p95: quantile(times, 0.95),
        cpuMicros: (1000 * (usedMs() - before)) / times.length,
      }
    }
    await fillCache(service.url, pathsOf('cached'), Math.min(rows, requestedRows))
    const results = await alternate(
      Object.fromEntries(sides.map((side) => [side, () => measure(side)])),
      rounds,
    )
    const rowsOf = (side) => {
      const of = (figure) => results[side].map((result) => result[figure])
      const published = of('perSecond').map(() => publishedPerSecond)
      return [
        comparison({
          name: `a row by its key, ${side}`,
          unit: 'requests/s',
          sides: { Wellhead: of('perSecond'), 'PostgREST, published': published },
          more: {
            'µs of processor time a request': median(of('cpuMicros')),
            'refused (503)': median(of('refused')),
          },
        }),
        comparison({ name: `a row by its key, ${side}, p95`, unit: 'ms', sides: { Wellhead: of('p95') } }),
      ]
    }
    return {
      tables: [
        {
          id: 'by-key',
          title: `One of ${rows} rows by its key over ${connections} connections`,
          compares: `Requests per second, divided by the ${publishedPerSecond.toLocaleString('en-US')} that were published for PostgREST.`,
          each: true,
          rows: sides.flatMap(rowsOf),
        },
      ],
      notes: [
        'Not comparable: PostgREST and PostgreSQL had two cores of their own and clients on another machine; here the client ' +
          'shares the cores. Wellhead reads a column store, which is made for scans.',
      ],
    }
  } finally {
    await service.stop()
    remove()
  }
}

async function fill(url, rows) {
  const client = openClient({ url, token, connections: 1 })
  const post = (path, body) => {
    const headers = { 'Content-Type': 'application/json' }
    return client.call(path, { method: 'POST', headers, body: JSON.stringify(body) })
  }
  await post('/api/sources', { name: source })
  const entries = Array.from({ length: rows }, (_, n) => ({
    project: `k${n}`,
    id: `row ${n}`,
    event_message: `The row with the key k${n}.`,
  }))
  for (let from = 0; from < rows; from += 10_000) {
    await post(`/api/logs?source=${source}`, entries.slice(from, from + 10_000))
  }
  for (const side of sides) {
    await post('/api/endpoints', {
      name: `bench.${side}`,
      query: `SELECT id, event_message FROM ${source} WHERE project = @key LIMIT 1`,
      parameters: { key: { required: true } },
      cache_seconds: side === 'cached' ? 3_600 : null,
    })
  }
  client.close()
}

async function fillCache(url, pathOf, count) {
  const client = openClient({ url, token, connections: 8 })
  let next = 0
  const work = async () => {
    while (next < count) {
      const body = await client.call(pathOf(next++))
      if (JSON.parse(body).result.length !== 1) throw new Error(`Not one row: ${body}`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, work))
  client.close()
}
