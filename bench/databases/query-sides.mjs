import { Query } from '../../build/core/sql/query.js'
import { alternate, timesOf } from '../support/rounds.mjs'
import { duckdbQuery, duckdbRows } from './duckdb-layout.mjs'
import { postgresQuery, postgresRows } from './postgres-layout.mjs'
import { checkSameRows, comparedColumns } from './saved-queries.mjs'

/** Measures the same query on every side, in rounds. Throws if the rows differ. */
export async function measureCall(bench, call) {
  const { service, rounds, deadlineMs } = bench
  const { calls } = call
  const { statement, answer } = await watchedCall(bench, call)
  const others = await otherSides(bench, call, answer)
  const times = await alternate(
    {
      http: () => timesOf(calls, () => callOver(bench, call)),
      engine: () => timesOf(calls, () => service.engine.query(statement, { deadlineMs })),
      ...others,
    },
    rounds,
  )
  const plan = await planOf(service.engine, statement, deadlineMs)
  const planned = await timesOf(calls, () => planOf(service.engine, statement, deadlineMs))
  return { times, planned, size: sizeOf(statement.sql), plan }
}

/** The engine's plan of a statement, with the parts and granules that each index leaves. */
export async function planOf(engine, statement, deadlineMs) {
  const explained = { ...statement, sql: `EXPLAIN indexes = 1 ${statement.sql}`, format: 'TabSeparatedRaw' }
  return (await engine.query(explained, { deadlineMs })).body.toString()
}

/** How many SELECTs of a statement are inside each other, and its length. */
export function sizeOf(sql) {
  const { selects } = new Query(sql)
  const levelsOf = (scope) => (scope ? 1 + levelsOf(scope.parent) : 0)
  return { levels: Math.max(...selects.map(levelsOf)), characters: sql.length }
}

/** Parts that a plan reads, of the active parts of its tables. */
export function partsRead(plan) {
  const reads = plan.split('ReadFromMergeTree').slice(1)
  const sum = (pick) => reads.reduce((total, read) => total + Number(pick(partsIn(read))), 0)
  return {
    'parts read': sum((steps) => steps.at(-1)?.[1] ?? 0),
    'active parts': sum((steps) => steps[0]?.[2] ?? 0),
  }
}

const partsIn = (text) => [...text.matchAll(/Parts: (\d+)\/(\d+)/g)]

/** Sends a query that bypasses the cache. */
export function callOver({ client }, { endpoint, parameters }) {
  const path = `/api/endpoints/query/${endpoint}?${new URLSearchParams(parameters)}`
  return client.call(path, { headers: { 'Cache-Control': 'no-cache' } })
}

/** Sends a query and captures the statement that the service sends to the engine. */
async function watchedCall(bench, call) {
  let answer
  const [statement] = await statementsOf(bench.service.engine, async () => {
    answer = JSON.parse(await callOver(bench, call)).result
  })
  if (!statement) throw new Error(`No statement for ${call.endpoint} reached the engine.`)
  return { statement, answer }
}

/** The statements of endpoints that reach the engine during the work. */
export async function statementsOf(engine, work) {
  const seen = []
  engine.query = (statement, limits) => {
    seen.push(statement)
    return Object.getPrototypeOf(engine).query.call(engine, statement, limits)
  }
  try {
    await work()
    return seen.filter(({ parameters }) => parameters?.now !== undefined)
  } finally {
    delete engine.query
  }
}

async function otherSides({ stores: { postgres, duckdb }, nowMs, rounds, slowMs }, call, answer) {
  const { calls } = call
  const form = comparedColumns[call.endpoint]
  const sides = {}
  if (postgres) {
    checkSameRows('PostgreSQL', call, answer, await postgresRows(postgres, call, nowMs, form))
    const sql = postgresQuery(call, nowMs)
    const ask = (count) => timesOf(count, () => postgres.query(sql))
    sides.postgres = await atMost({ ask, rounds, calls, slowMs })
  }
  if (duckdb) {
    checkSameRows('DuckDB', call, answer, await duckdbRows(duckdb, call, nowMs, form))
    const sql = duckdbQuery(call, nowMs)
    sides.duckdb = await atMost({ ask: (count) => duckdb.time(sql, count), rounds, calls, slowMs })
  }
  return sides
}

/** Slow queries run less often, but in at least one measured round. */
async function atMost({ ask, rounds, calls, slowMs }) {
  const [onceMs] = await ask(1)
  const affordable = Math.max(1, Math.floor(slowMs / onceMs))
  const perRound = Math.max(1, Math.min(calls, Math.floor(affordable / rounds)))
  return (round) => (round <= affordable ? ask(perRound) : undefined)
}
