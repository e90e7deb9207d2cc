/**
 * A thousand alerts a minute beside callers who use 70 % of what the engine can do: how late evaluations are, and what they add
 * to the time of requests. Alerts may use a tenth of the engine, and those on the same result share a query, so the number of
 * results decides whether all of them can be on time. Also what an evaluation of 1,000 groups costs.
 */
import { numberFrom, quantile } from './support/figures.mjs'
import { cpuMs } from './support/processes.mjs'
import { comparison } from './support/result.mjs'
import { alternate } from './support/rounds.mjs'
import { openService } from './support/service.mjs'

export const about = 'evaluating alerts beside requests'

const endpoint = {
  name: 'bench.errors',
  query:
    'SELECT countIf(status_code >= 500) AS errors, count() AS requests FROM edge_logs ' +
    'WHERE project = @project AND timestamp > @now - INTERVAL 15 MINUTE',
  parameters: { project: { required: true } },
}

const capacitySeconds = 4
/** Of a round, in which most alerts by group are evaluated once. */
const groupsSeconds = 4

const grouped = {
  name: 'bench.groups',
  query:
    'SELECT project, 1 AS one, count() AS requests FROM edge_logs WHERE timestamp <= @now AND toUInt64(@n) < 1000 ' +
    'GROUP BY project ORDER BY project LIMIT 1000',
  max_rows: 1000,
  parameters: { n: { required: true } },
}

export async function run({ engineNode, patience, choose }) {
  const alerts = numberFrom('BENCH_ALERTS', choose({ full: 1000, quick: 100 }))
  const results = numberFrom('BENCH_RESULTS', choose({ full: 200, quick: 20 }))
  const seconds = numberFrom('BENCH_SECONDS', choose({ full: 10, quick: 5 }))
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
    await ask('POST', '/api/endpoints', grouped)
    const groups = await groupsTable(service, ask)
    const most = await capacity(call)
    const rate = most * 0.7
    console.error(`${Math.round(most)} requests a second at most`)
    const alone = await callersAt(rate, seconds, call)
    const definitions = Array.from({ length: alerts }, (_, n) => alertOf(n, results))
    // At once, a deployment takes 500.
    for (let from = 0; from < alerts; from += 500) {
      await ask('POST', '/api/deployments', { alerts: definitions.slice(from, from + 500) })
    }
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
      each: true,
      rows: [
        comparison({
          name: 'requests beside alerts, p99',
          unit: 'ms',
          sides: { 'beside alerts': [quantile(beside.times, 0.99)], alone: [quantile(alone.times, 0.99)] },
          more: {
            'requests a second': Math.round(rate),
            'refused beside alerts': beside.refused,
            'refused alone': alone.refused,
          },
        }),
        comparison({
          name: `lateness of ${alerts} alerts a minute on ${results} results, p99 at most`,
          unit: 's',
          sides: { Wellhead: [p99] },
          more: {
            'requests a second at most': Math.round(most),
            evaluations: evaluated,
            'expected evaluations': Math.round((alerts * seconds) / 60),
            'later than 2 s': evaluated - late.find(({ le }) => le === 2).count,
          },
        }),
      ],
    }
    return { tables: [table, groups] }
  } finally {
    await service.close()
  }
}

/** Both sides read the same rows. Processor time has the storing of states. */
async function groupsTable(service, ask) {
  const measured = async (by) => {
    const names = Array.from({ length: 10 }, (_, n) => `bench-group-${n}`)
    for (const [n, name] of names.entries()) {
      const alert = { name, endpoint: grouped.name, parameters: { n: String(n) }, when: 'any(requests) < 0' }
      await ask('POST', '/api/alerts', { ...alert, by: [by], every_seconds: 5 })
    }
    const evaluations = async () => (await latenessOf(ask)).at(-1).count
    const [count, own, engine] = [await evaluations(), process.cpuUsage(), cpuMs(service.engine.pid)]
    await new Promise((resolve) => setTimeout(resolve, 1000 * groupsSeconds))
    const { user, system } = process.cpuUsage(own)
    const usedMs = (user + system) / 1000 + cpuMs(service.engine.pid) - engine
    const perEvaluation = usedMs / ((await evaluations()) - count)
    for (const name of names) await ask('DELETE', `/api/alerts/${name}`)
    return perEvaluation
  }
  const sides = { '1,000 groups': () => measured('project'), 'one group': () => measured('one') }
  return {
    id: 'groups',
    title: 'Alerts by group on 1,000 rows',
    compares: 'Processor time of an evaluation of 1,000 groups, divided by that of one group.',
    rows: [
      comparison({
        name: 'an evaluation',
        unit: 'ms',
        sides: await alternate(sides, 3),
        aim: { atMost: 1.2 },
      }),
    ],
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

async function fill(engine) {
  const sql =
    'INSERT INTO wellhead.edge_logs (project, id, timestamp, event_message, metadata) ' +
    "SELECT concat('p', toString(number % 1000)), toString(number), now64(6) - toIntervalSecond(number % 3600), '', " +
    `'{"response":{"status_code":200}}' FROM numbers(1000000)`
  await engine.command({ sql, settings: { max_partitions_per_insert_block: 0 } }, { deadlineMs: 600_000 })
}

/** Requests a second of eight clients that never pause. */
async function capacity(call) {
  const until = performance.now() + 1000 * capacitySeconds
  let done = 0
  const client = async (first) => {
    for (let n = first; performance.now() < until; n += 8) {
      if (await call(n)) done++
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, first) => client(first)))
  return done / capacitySeconds
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
  await new Promise((resolve) => setTimeout(resolve, 5_000))
}

/** Cumulated counts by upper bound, in seconds. */
async function latenessOf(ask) {
  const text = await ask('GET', '/metrics')
  const lines = [...text.matchAll(/^wellhead_alert_lateness_seconds_bucket\{le="([^"]+)"\} (\d+)/gm)]
  return lines.map(([, le, count]) => ({ le: le === '+Inf' ? Infinity : Number(le), count: Number(count) }))
}
