/**
 * What a call of the three endpoints costs: over HTTP, over the same statement on the same engine, and over the same
 * question to PostgreSQL; how it grows with everybody else's data; and how much of the data it reads.
 *
 * BENCH_ROWS: entries of the smaller data; the larger has ten times as many.
 */
import { median, numberFrom, quantile, table } from './support/figures.mjs'
import { openClient } from './support/http-client.mjs'
import { loadLogs, steadyProject } from './support/load-logs.mjs'
import { command } from './support/measured-tables.mjs'
import { findPostgres, howToInstall, openPostgres } from './support/postgres.mjs'
import { checkSameRows, createTables, queryOf } from './support/postgres-layout.mjs'
import { openService } from './support/service.mjs'

const seed = 20_260_102

function casesFor({ largestProject }) {
  const same = { tenant: 'same size', project: steadyProject }
  const largest = { tenant: 'largest', project: largestProject }
  const of = (endpoint, { tenant, project }, given) => ({
    name: Object.values(given).join(),
    endpoint,
    tenant,
    parameters: { project, ...given },
  })
  return [
    of('logs.all', same, { project_tier: 'FREE' }),
    of('logs.all', same, { project_tier: 'PRO' }),
    of('logs.all', largest, { project_tier: 'PRO' }),
    of('functions.invocation-stats', same, { interval: '1day' }),
    of('functions.invocation-stats', same, { interval: '7day' }),
    of('functions.invocation-stats', largest, { interval: '7day' }),
    of('usage.api-counts', same, { interval: 'minutely' }),
    of('usage.api-counts', same, { interval: 'daily' }),
    of('usage.api-counts', largest, { interval: 'daily' }),
  ]
}

export async function run({ engineNode, patience, quick }) {
  const smaller = numberFrom('BENCH_ROWS', quick ? 2_000 : 1_000_000)
  const steadyRows = Math.min(smaller, Math.max(100, Math.floor(smaller / 500)))
  // Time stands still, so that every side is asked for the same window.
  const nowMs = Date.now()
  const [rounds, calls, postgresMs] = quick ? [1, 3, 2_000] : [9, 20, 60_000]
  const bin = findPostgres()
  const service = await openService({ engineNode, patience, clock: { now: () => nowMs } })
  const client = openClient({ url: service.url, token: service.adminToken.token, connections: 1 })
  let postgres
  try {
    postgres = bin && (await openPostgres(bin))
    const bench = {
      service,
      client,
      postgres,
      nowMs,
      rounds,
      calls,
      postgresMs,
      deadlineMs: 60_000 * patience,
    }
    const results = []
    for (const rows of [smaller, 10 * smaller]) {
      console.error(`Loading ${rows} entries`)
      for (const source of ['edge_logs', 'function_edge_logs']) {
        await command(service.engine, `TRUNCATE TABLE wellhead.${source}`)
      }
      if (postgres) await createTables(postgres)
      const load = { engine: service.engine, postgres, seed, rows, steadyRows, nowMs }
      for (const call of casesFor(await loadLogs(load))) {
        console.error(`${call.endpoint} ${call.name} (${call.tenant})`)
        results.push({ rows, call, ...(await measure(bench, call)) })
      }
    }
    return [
      table('Calls over HTTP, over the same statement on the engine', results.map(overEngine)),
      postgres ? table('PostgreSQL over calls over HTTP', results.map(overPostgres)) : howToInstall,
      table(`Growth of p50 for a project of ${steadyRows} entries`, growth(results, smaller)),
      table('Granules that usage.api-counts reads', granules(results)),
    ].join('\n\n')
  } finally {
    client.close()
    await postgres?.close()
    await service.close()
  }
}

async function measure(bench, call) {
  const { service, rounds, calls, deadlineMs } = bench
  const { statement, answer } = await watchedCall(bench, call)
  const sides = {
    http: () => callOver(bench, call),
    engine: () => service.engine.query(statement, { deadlineMs }),
  }
  const times = { http: [], engine: [] }
  for (let round = 0; round <= rounds; round++) {
    for (const side of round % 2 === 0 ? ['engine', 'http'] : ['http', 'engine']) {
      for (let i = 0; i < calls; i++) {
        const since = performance.now()
        await sides[side]()
        // The first round warms both sides.
        if (round > 0) times[side].push(performance.now() - since)
      }
    }
  }
  const plan = await service.engine.query(
    { ...statement, sql: `EXPLAIN indexes = 1 ${statement.sql}`, format: 'TabSeparatedRaw' },
    { deadlineMs },
  )
  times.postgres = await askPostgres(bench, call, answer)
  return { times, plan: plan.body.toString() }
}

/** Asks for a run of its own, whatever is cached. */
function callOver({ client }, { endpoint, parameters }) {
  const path = `/api/endpoints/query/${endpoint}?${new URLSearchParams(parameters)}`
  return client.call(path, { headers: { 'Cache-Control': 'no-cache' } })
}

/** A call, and the statement that the service made of it: word for word what the engine is then given alone. */
async function watchedCall(bench, call) {
  const { engine } = bench.service
  const seen = []
  engine.query = (statement, limits) => {
    seen.push(statement)
    return Object.getPrototypeOf(engine).query.call(engine, statement, limits)
  }
  try {
    const answer = JSON.parse(await callOver(bench, call)).result
    const statement = seen.find(({ parameters }) => parameters?.now !== undefined)
    if (!statement) throw new Error(`No statement of ${call.endpoint} reached the engine.`)
    return { statement, answer }
  } finally {
    delete engine.query
  }
}

/** Slow answers are asked for less often. */
async function askPostgres({ postgres, nowMs, rounds, calls, postgresMs }, call, answer) {
  if (!postgres) return []
  // Also what warms it.
  await checkSameRows(postgres, call, nowMs, answer)
  const sql = queryOf(call, nowMs)
  const times = []
  for (let spentMs = 0; spentMs < postgresMs && times.length < rounds * calls; spentMs += times.at(-1)) {
    const since = performance.now()
    await postgres.query(sql)
    times.push(performance.now() - since)
  }
  return times
}

const p99 = (times) => quantile(times, 0.99)
const ms = (value) => value.toFixed(2)

function labels({ rows, call }) {
  return { entries: rows, endpoint: call.endpoint, with: call.name, tenant: call.tenant }
}

function overEngine(result) {
  const { http, engine } = result.times
  return {
    ...labels(result),
    'engine p50 ms': ms(median(engine)),
    'HTTP p50 ms': ms(median(http)),
    'p50 ratio': ms(median(http) / median(engine)),
    'engine p99 ms': ms(p99(engine)),
    'HTTP p99 ms': ms(p99(http)),
    'p99 ratio': ms(p99(http) / p99(engine)),
  }
}

function overPostgres(result) {
  const { http, postgres } = result.times
  return {
    ...labels(result),
    'PostgreSQL p50 ms': ms(median(postgres)),
    '× HTTP p50': (median(postgres) / median(http)).toFixed(1),
    'PostgreSQL p99 ms': ms(p99(postgres)),
    '× HTTP p99': (p99(postgres) / p99(http)).toFixed(1),
    asked: postgres.length,
  }
}

function growth(results, smaller) {
  const p50 = ({ times }) => median(times.http)
  return results
    .filter(({ rows, call }) => rows === smaller && call.tenant === 'same size')
    .map((small) => {
      const sameCall = ({ rows, call }) =>
        rows !== smaller &&
        call.tenant === 'same size' &&
        call.endpoint === small.call.endpoint &&
        call.name === small.call.name
      const large = results.find(sameCall)
      return {
        endpoint: small.call.endpoint,
        with: small.call.name,
        [`ms at ${smaller}`]: ms(p50(small)),
        [`ms at ${10 * smaller}`]: ms(p50(large)),
        growth: ms(p50(large) / p50(small)),
      }
    })
}

/** Each index of the plan tells how many granules came to it and how many it left. */
function granules(results) {
  return results
    .filter(({ call }) => call.endpoint === 'usage.api-counts')
    .map((result) => {
      const steps = [...result.plan.matchAll(/Granules: (\d+)\/(\d+)/g)]
      if (steps.length === 0) throw new Error(`The plan tells no granules:\n${result.plan}`)
      const [read, all] = [Number(steps.at(-1)[1]), Number(steps[0][2])]
      return { ...labels(result), 'granules read': read, 'in all': all, share: (read / all).toFixed(4) }
    })
}
