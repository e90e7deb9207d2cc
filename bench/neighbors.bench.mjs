/**
 * One tenant's searches next to another one's cached requests and to sending: the engine at the service's priority, and at
 * lower ones. The threads of a running engine are given each priority in turn, so all sides have the same engine.
 *
 * BENCH_ROWS: entries that are searched. BENCH_NICE: nice values, which are compared with 0. BENCH_SECONDS: of a round.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { setPriority, tmpdir } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { atTheEnd } from './support/at-the-end.mjs'
import { startService, token } from './support/called.mjs'
import { numberFrom, numbersFrom, quantile } from './support/figures.mjs'
import { isRefused, openClient } from './support/http-client.mjs'
import { familyOf } from './support/processes.mjs'
import { comparison } from './support/result.mjs'
import { alternate } from './support/rounds.mjs'

export const about = 'cached requests next to searches of another tenant'

/** How many of each run at once, without a pause. */
const loads = {
  '4 searches': { search: 4 },
  '4 searches and sending': { search: 4, send: 1 },
  'a search, sending and cached requests at full speed': { hit: 16, search: 1, send: 1 },
}
const hitEveryMs = 20
const path = '/api/endpoints/query/bench.cached?project=b'

export async function run({ engineNode, patience, choose }) {
  if (process.getuid?.() !== 0) return { skipped: 'it needs root, to raise a priority again.' }
  const seconds = numberFrom('BENCH_SECONDS', choose({ full: 2.5, quick: 1, emulated: 15 }))
  const rounds = numberFrom('BENCH_ROUNDS', 3)
  const scratch = mkdtempSync(`${tmpdir()}/wellhead-bench-`)
  const removeScratch = atTheEnd(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 5 }))
  const service = await startService(scratch, engineNode, patience)
  const client = openClient({ url: service.url, token, connections: 64 })
  const post = (path, body) =>
    client.call(path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
  const batch = (count) =>
    Array.from({ length: count }, (_, n) => ({
      project: 'a',
      event_message: `request ${n} completed`,
      metadata: { path: `/v1/orders/${Math.random()}`, status: 200 + (n % 5), took_ms: n % 1000 },
    }))
  try {
    const rows = numberFrom('BENCH_ROWS', choose({ full: 100_000, quick: 10_000, emulated: 50_000 }))
    for (let sent = 0; sent < rows; sent += 5_000) await post('/api/logs?source=edge_logs', batch(5_000))
    await post('/api/endpoints', {
      name: 'bench.cached',
      query: 'SELECT number AS n FROM numbers(20)',
      cache_seconds: 86_400,
      parameters: { project: {} },
    })
    const calls = {
      hit: () => client.call(path),
      search: (n) => post('/api/sources/edge_logs/search', { query: `nothing_has_this_${n}_`, project: 'a' }),
      send: () => post('/api/logs?source=auth_logs', batch(100)),
    }
    const [, engine] = familyOf(service.pid)
    const values = [...numbersFrom('BENCH_NICE', [10]), 0]
    const alone = await measured(calls, {}, seconds)
    const results = {}
    for (const [name, load] of Object.entries(loads)) {
      console.error(name)
      const side = (nice) => async () => {
        setEnginePriority(engine, nice)
        return measured(calls, load, seconds)
      }
      results[name] = await alternate(
        Object.fromEntries(values.map((nice) => [`nice ${nice}`, side(nice)])),
        rounds,
      )
    }
    const times = (q) => ({
      id: `p${100 * q}`,
      title: `Cached requests of a tenant next to work of another, p${100 * q}`,
      compares: `p${100 * q} of a cached request with the engine at a nice value, divided by that at nice 0.`,
      each: true,
      rows: Object.entries(results).flatMap(([load, sides]) =>
        rowsOf(sides, {
          name: `cached p${100 * q} next to ${load}`,
          unit: 'ms',
          figure: (result) => quantile(result.times, q),
          more: { 'next to nothing, ms': quantile(alone.times, q) },
        }),
      ),
    })
    const kinds = { search: 'searches', send: 'batches', hit: 'cached requests' }
    const work = Object.entries(loads).flatMap(([load, counts]) =>
      Object.keys(counts).flatMap((kind) =>
        rowsOf(results[load], {
          name: `${kinds[kind]}: ${load}`,
          unit: 'per s',
          figure: ({ done }) => done[kind] / seconds,
        }),
      ),
    )
    return {
      tables: [
        times(0.5),
        times(0.99),
        {
          id: 'work',
          title: 'The other work',
          compares:
            'Searches, batches and cached requests a second of the others, divided by those at nice 0.',
          rows: work,
        },
      ],
    }
  } finally {
    client.close()
    await service.stop()
    removeScratch()
  }
}

/** One row for each nice value of the engine, compared with the last one. */
function rowsOf(sides, { name, unit, figure, more }) {
  const of = (side) => sides[side].map(figure)
  const names = Object.keys(sides)
  const plain = names.at(-1)
  return names
    .slice(0, -1)
    .map((side) =>
      comparison({ name: `${name}, ${side}`, unit, sides: { [side]: of(side), [plain]: of(plain) }, more }),
    )
}

function setEnginePriority(pid, nice) {
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      setPriority(Number(thread), nice)
    } catch (error) {
      // The thread has ended.
      if (error.info?.code !== 'ESRCH') throw error
    }
  }
}

/** Times of cached requests that are sent at fixed times, and what the loops of each kind did meanwhile. */
async function measured(calls, load, seconds) {
  const untilMs = performance.now() + seconds * 1000
  const done = { hit: 0, search: 0, send: 0 }
  const loop = async (kind, n) => {
    while (performance.now() < untilMs) {
      try {
        await calls[kind](n)
        if (performance.now() < untilMs) done[kind]++
      } catch (error) {
        if (!isRefused(error)) throw error
      }
    }
  }
  const loops = Object.entries(load).flatMap(([kind, count]) =>
    Array.from({ length: count }, (_, n) => loop(kind, n)),
  )
  const times = []
  const hits = async () => {
    const sent = []
    for (let dueMs = performance.now(); dueMs < untilMs; dueMs += hitEveryMs) {
      await delay(Math.max(0, dueMs - performance.now()))
      const sinceMs = performance.now()
      sent.push(calls.hit().then(() => times.push(performance.now() - sinceMs)))
    }
    await Promise.all(sent)
  }
  await Promise.all([hits(), ...loops])
  return { times, done }
}
