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
import { openClient } from './support/http-client.mjs'
import { familyOf } from './support/processes.mjs'
import { comparison } from './support/result.mjs'
import { alternate } from './support/rounds.mjs'

export const about = 'cached requests next to searches of another tenant'

const searches = 4
const hitEveryMs = 20
const path = '/api/endpoints/query/bench.cached?project=b'

export async function run({ engineNode, patience, choose }) {
  if (process.getuid?.() !== 0) return { skipped: 'it needs root, to raise a priority again.' }
  const seconds = numberFrom('BENCH_SECONDS', choose({ full: 5, quick: 3, emulated: 15 }))
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
    const rows = numberFrom('BENCH_ROWS', choose({ full: 200_000, quick: 50_000, emulated: 50_000 }))
    for (let sent = 0; sent < rows; sent += 5_000) await post('/api/logs?source=edge_logs', batch(5_000))
    const cached = {
      name: 'bench.cached',
      query: 'SELECT number AS n FROM numbers(20)',
      cache_seconds: 86_400,
    }
    await fetch(`${service.url}/api/endpoints`, {
      method: 'POST',
      headers: { 'X-API-KEY': token, 'Content-Type': 'application/json' },
      body: JSON.stringify({ ...cached, parameters: { project: {} } }),
    })
    const work = {
      hit: () => client.call(path),
      search: (n) => post('/api/sources/edge_logs/search', { query: `nothing_has_this_${n}_`, project: 'a' }),
      send: () => post('/api/logs?source=auth_logs', batch(100)),
    }
    const [, engine] = familyOf(service.pid)
    const measure = (nice, load) => async () => {
      for (const thread of readdirSync(`/proc/${engine}/task`)) setPriority(Number(thread), nice)
      return measured(work, load, seconds)
    }
    const loads = {
      'nothing else': {},
      [`${searches} searches`]: { search: searches },
      [`${searches} searches and sending`]: { search: searches, send: 1 },
      'a search and sending, under cached requests at full speed': { hit: 16, search: 1, send: 1 },
    }
    const tables = []
    for (const [name, load] of Object.entries(loads)) {
      const values = [0, ...numbersFrom('BENCH_NICE', [5, 10, 19])]
      const sides = Object.fromEntries(values.map((nice) => [`nice ${nice}`, measure(nice, load)]))
      const results = await alternate(sides, rounds)
      const row = (title, unit, figure) => {
        const of = (side) => results[side].map(figure)
        const [plain, ...others] = Object.keys(sides)
        return others.map((side) =>
          comparison({ name: `${title}, ${side}`, unit, sides: { [side]: of(side), [plain]: of(plain) } }),
        )
      }
      tables.push({
        id: `load-${tables.length}`,
        title: `Cached requests next to: ${name}`,
        compares: 'Each nice value of the engine, divided by nice 0.',
        rows: [
          ...row('cached request, p50', 'ms', ({ times }) => quantile(times, 0.5)),
          ...row('cached request, p99', 'ms', ({ times }) => quantile(times, 0.99)),
          ...(load.search ? row('searches', 'per s', ({ done }) => done.search / seconds) : []),
          ...(load.send ? row('batches sent', 'per s', ({ done }) => done.send / seconds) : []),
          ...(load.hit ? row('cached requests', 'per s', ({ done }) => done.hit / seconds) : []),
        ],
      })
    }
    return { tables }
  } finally {
    client.close()
    await service.stop()
    removeScratch()
  }
}

/** Times of cached requests that are sent at fixed times, and what the loops of each kind did meanwhile. */
async function measured(work, load, seconds) {
  const untilMs = performance.now() + seconds * 1000
  const done = { hit: 0, search: 0, send: 0 }
  const loop = async (kind, n) => {
    while (performance.now() < untilMs) {
      await work[kind](n)
      if (performance.now() < untilMs) done[kind]++
    }
  }
  const loops = Object.entries(load).flatMap(([kind, count]) =>
    Array.from({ length: count }, (_, n) => loop(kind, n)),
  )
  const times = []
  const sent = []
  for (let dueMs = performance.now(); dueMs < untilMs; dueMs += hitEveryMs) {
    await delay(Math.max(0, dueMs - performance.now()))
    const sinceMs = performance.now()
    sent.push(work.hit().then(() => times.push(performance.now() - sinceMs)))
  }
  await Promise.all([...loops, ...sent])
  return { times, done }
}
