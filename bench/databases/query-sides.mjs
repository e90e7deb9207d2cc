import { alternate, timesOf } from '../support/rounds.mjs'
import { duckdbQuery, duckdbRows } from './duckdb-layout.mjs'
import { postgresQuery, postgresRows } from './postgres-layout.mjs'
import { checkSameRows, comparedColumns } from './saved-queries.mjs'

/** Measures the same query on every side, in rounds. Throws if the rows differ. */
export async function measureCall(bench, call) {
  const { service, rounds, calls, deadlineMs } = bench
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
  const plan = await service.engine.query(
    { ...statement, sql: `EXPLAIN indexes = 1 ${statement.sql}`, format: 'TabSeparatedRaw' },
    { deadlineMs },
  )
  return { times, plan: plan.body.toString() }
}

/** Sends a query that bypasses the cache. */
export function callOver({ client }, { endpoint, parameters }) {
  const path = `/api/endpoints/query/${endpoint}?${new URLSearchParams(parameters)}`
  return client.call(path, { headers: { 'Cache-Control': 'no-cache' } })
}

/** Sends a query and captures the statement that the service sends to the engine. */
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
    if (!statement) throw new Error(`No statement for ${call.endpoint} reached the engine.`)
    return { statement, answer }
  } finally {
    delete engine.query
  }
}

async function otherSides({ stores: { postgres, duckdb }, nowMs, rounds, calls, slowMs }, call, answer) {
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
