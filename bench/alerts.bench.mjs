/**
 * A thousand alerts a minute beside callers who use 70 % of what the engine can do: how late evaluations are, and what they add
 * to the time of requests. Alerts may use a tenth of the engine, and those on the same result share a query, so the number of
 * results decides whether all of them can be on time.
 */
import { numberFrom, quantile } from './support/figures.mjs'
import { comparison, observation } from './support/result.mjs'
import { openService } from './support/service.mjs'

export const about = 'evaluating alerts beside requests'

const endpoint = {
  name: 'bench.errors',
  query:
    'SELECT countIf(status_code >= 500) AS errors, count() AS requests FROM edge_logs ' +
    'WHERE project = @project AND timestamp > @now - INTERVAL 15 MINUTE',
  parameters: { project: { required: true } },
}

export async function run({ engineNode, patience, choose }) {
  const alerts = numberFrom('BENCH_ALERTS', choose({ full: 1000, quick: 100 }))
  const results = numberFrom('BENCH_RESULTS', choose({ full: 200, quick: 20 }))
  const seconds = numberFrom('BENCH_SECONDS', choose({ full: 30, quick: 10 }))
  const service = await openService({ engineNode, patience })
  const ask = async (method, path, body) => {
    const response = await fetch(service.url + path, {
      method,
      headers: { 'X-API-KEY': service.adminToken.token, ...(body && { 'Content-Type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    return text
  }
  /** Whether the request was served; others were refused, since too many waited. */
  const call = async (n) => {
    const headers = { 'X-API-KEY': service.adminToken.token }
    const response = await fetch(`${service.url}/api/endpoints/query/${endpoint.name}?project=p${n % 1000}`, {
      headers,
    })
    await response.text()
    return response.ok
  }
  try {
    await fill(service.engine)
    await ask('POST', '/api/endpoints', endpoint)
    const most = await capacity(call)
    const rate = most * 0.7
    console.error(`${Math.round(most)} requests a second at most`)
    const alone = await callersAt(rate, Math.min(seconds, 20), call)
    await createAlerts(ask, alerts, results)
    await settled(ask, alerts)
    const before = await latenessOf(ask)
    const beside = await callersAt(rate, seconds, call)
    const after = await latenessOf(ask)
    const late = after.map(({ le, count }, at) => ({ le, count: count - before[at].count }))
    const evaluated = late.at(-1).count
    const p99 = late.find(({ count }) => count >= evaluated * 0.99).le
    const table = {
      id: 'alerts',
      title: `${alerts} alerts a minute beside 70 % load`,
      compares: 'The 99th percentile of requests beside alerts, divided by that without alerts.',
      rows: [
        comparison({
          name: 'requests, 99th percentile',
          unit: 'ms',
          sides: { 'beside alerts': [quantile(beside.times, 0.99)], alone: [quantile(alone.times, 0.99)] },
          more: {
            'requests a second': Math.round(rate),
            'refused beside alerts': beside.refused,
            'refused alone': alone.refused,
          },
        }),
        observation('lateness of evaluations', {
          results,
          'requests a second at most': Math.round(most),
          evaluations: evaluated,
          'expected evaluations': Math.round((alerts * seconds) / 60),
          '99th percentile at most, s': p99,
          'later than 2 s': evaluated - late.find(({ le }) => le === 2).count,
        }),
      ],
    }
    return { tables: [table] }
  } finally {
    await service.close()
  }
}

function alertOf(n, results) {
  return {
    name: `bench-${n}`,
    endpoint: endpoint.name,
    parameters: { project: `p${n % results}` },
    when: `any(errors) >= ${1_000_000 + n}`,
  }
}

/** Ten at a time. */
async function createAlerts(ask, alerts, results) {
  const create = async (first) => {
    for (let n = first; n < alerts; n += 10) await ask('POST', '/api/alerts', alertOf(n, results))
  }
  await Promise.all(Array.from({ length: 10 }, (_, first) => create(first)))
}

async function fill(engine) {
  const sql =
    'INSERT INTO wellhead.edge_logs (project, id, timestamp, event_message, metadata) ' +
    "SELECT concat('p', toString(number % 1000)), toString(number), now64(6) - toIntervalSecond(number % 3600), '', " +
    `'{"response":{"status_code":200}}' FROM numbers(1000000)`
  await engine.command({ sql, settings: { max_partitions_per_insert_block: 0 } }, { deadlineMs: 600_000 })
}

/** Requests a second of eight clients that never pause. */
async function capacity(call) {
  const until = performance.now() + 10_000
  let done = 0
  const client = async (first) => {
    for (let n = first; performance.now() < until; n += 8) {
      if (await call(n)) done++
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, first) => client(first)))
  return done / 10
}

/** Starts requests at a rate, whether earlier ones have ended or not, and returns how long those took that were served. */
async function callersAt(rate, seconds, call) {
  const times = []
  let refused = 0
  const running = new Set()
  const began = performance.now()
  for (let n = 0; n < rate * seconds; n++) {
    const due = began + (n * 1000) / rate
    const pause = due - performance.now()
    if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause))
    const request = call(n).then((served) => (served ? times.push(performance.now() - due) : refused++))
    running.add(request)
    request.finally(() => running.delete(request))
  }
  await Promise.all(running)
  return { times, refused }
}

/** Waits for the first evaluations, which are not spread, and then for those that they delayed. */
async function settled(ask, alerts) {
  const isEvaluated = async () => {
    const list = JSON.parse(await ask('GET', '/api/alerts'))
    return list.length === alerts && list.every(({ evaluated_at }) => evaluated_at !== null)
  }
  while (!(await isEvaluated())) await new Promise((resolve) => setTimeout(resolve, 500))
  await new Promise((resolve) => setTimeout(resolve, 10_000))
}

/** Cumulated counts by upper bound, in seconds. */
async function latenessOf(ask) {
  const text = await ask('GET', '/metrics')
  const lines = [...text.matchAll(/^wellhead_alert_lateness_seconds_bucket\{le="([^"]+)"\} (\d+)/gm)]
  return lines.map(([, le, count]) => ({ le: le === '+Inf' ? Infinity : Number(le), count: Number(count) }))
}
