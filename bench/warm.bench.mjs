/**
 * IncrementalRefresh of a cached result: full computation compared with incremental computation, for growing windows with the same
 * number of new entries. Both on the same engine, in alternating rounds.
 */
import { readFileSync } from 'node:fs'
import { systemTime } from '../build/base/clock.js'
import { EndpointRunner } from '../build/endpoints/call/endpoint-runner.js'
import { planRefresh, spanOf } from '../build/endpoints/call/incremental-refresh.js'
import { outputFormats } from '../build/endpoints/call/output-formats.js'
import { QueryQueue } from '../build/endpoints/call/query-queue.js'
import { readDefinition } from '../build/endpoints/definition/definition-file.js'
import { compileEndpoint } from '../build/endpoints/definition/endpoint.js'
import { numberFrom } from './support/figures.mjs'
import { comparison } from './support/result.mjs'
import { alternate } from './support/rounds.mjs'
import { openService } from './support/service.mjs'
import { shown } from './support/text-report.mjs'

const newEntries = 100
const minute = 60_000
const limits = { deadlineMs: 600_000 }

const cases = [
  { file: 'usage.api-counts', source: 'edge_logs', parameters: { project: 'abc', interval: 'daily' } },
  {
    file: 'functions.invocation-stats',
    source: 'function_edge_logs',
    parameters: { project: 'abc', interval: '7day' },
  },
]

export const about = 'refreshing a cached result'

export async function run({ engineNode, patience, choose }) {
  const largest = numberFrom('BENCH_ENTRIES', choose({ full: 1e6, quick: 1e5, emulated: 1e5 }))
  const rounds = numberFrom('BENCH_ROUNDS', choose({ full: 7, quick: 3, emulated: 5 }))
  const service = await openService({ engineNode, patience })
  const now = Date.now()
  const clock = { now: () => now }
  const sources = new Set(cases.map(({ source }) => source))
  const runner = new EndpointRunner({
    engine: service.engine,
    queue: new QueryQueue({
      maxRunning: 1,
      maxWaitingPerCaller: 1,
      maxWaiting: 1,
      maxWaitMs: 600_000,
      maxBackgroundWaitMs: 600_000,
      time: systemTime(clock),
    }),
    clock,
    maxMemoryBytes: 2 ** 30,
    maxThreads: 1,
    sources: () => sources,
  })
  const rows = []
  try {
    let stored = 0
    for (let entries = 1e4; entries <= largest; entries *= 10) {
      for (const { source } of cases) await fill(service.engine, source, entries - stored, now)
      stored = entries
      for (const { file, parameters } of cases) {
        console.error(`${file} with ${entries} entries`)
        rows.push(await measure({ service, runner, sources, entries, file, parameters, now, rounds }))
      }
    }
    const table = {
      id: 'refresh',
      title: `Renewing a cached result after ${newEntries} new entries`,
      compares: 'Engine time of an incremental refresh, divided by a full computation.',
      rows,
    }
    return { tables: [table] }
  } finally {
    await service.close()
  }
}

async function measure({ service, runner, sources, entries, file, parameters, now, rounds }) {
  const text = readFileSync(new URL(`../shipped/endpoints/${file}.sql`, import.meta.url), 'utf8')
  const { definition } = readDefinition(`${file}.sql`, text)
  const endpoint = await compileEndpoint(service.engine, definition, 1, sources)
  const { incremental } = definition
  const nowMicros = BigInt(now) * 1000n
  const plan = planRefresh({
    span: spanOf(incremental, parameters.interval),
    wholeBuckets: incremental.whole_buckets,
    beforeMicros: nowMicros - 300_000_000n,
    nowMicros,
    earliestMicros: nowMicros - 60_000_000n,
  })
  const call = {
    endpoint,
    values: endpoint.compiled.check(parameters),
    format: outputFormats[0],
    caller: 'bench',
    project: undefined,
  }
  const parts = { 'what changed': { range: plan.range }, everything: {} }
  const sides = await alternate(
    Object.fromEntries(
      Object.entries(parts).map(([side, part]) => [
        side,
        async () => (await runner.run(call, part)).engineMs,
      ]),
    ),
    rounds,
  )
  const read = async (part) =>
    (await runner.explain(call, part)).reads.reduce((sum, { rows }) => sum + rows, 0)
  return comparison({
    name: `${file}, ${shown(entries)} entries`,
    unit: 'ms',
    sides,
    more: {
      'rows read of what changed': await read(parts['what changed']),
      'of everything': await read(parts.everything),
    },
  })
}

/** Entries of one project over the last seven days, and a few of the last minute. */
async function fill(engine, source, entries, now) {
  const chunk = 1_000_000
  const at = (ms) => `fromUnixTimestamp64Milli(${Math.floor(ms)}, 'UTC')`
  const metadata =
    source === 'edge_logs'
      ? `concat('{"request":{"url":"https://abc.example.com/rest/v1/', toString(number % 97), '","path":"/rest/v1/', toString(number % 97), '"}}')`
      : `concat('{"function_id":"f', toString(number % 7), '","execution_time_ms":', toString(number % 500), ',"response":{"status_code":', if(number % 9 = 0, '500', '200'), '}}')`
  const insert = (rows, timestamp) =>
    engine.command(
      {
        sql:
          `INSERT INTO wellhead.${source} (project, id, timestamp, event_message, metadata) ` +
          `SELECT 'abc', toString(number), ${timestamp}, '', ${metadata} FROM numbers(${rows})`,
        settings: { max_partitions_per_insert_block: 0, max_threads: 1 },
      },
      limits,
    )
  const week = 7 * 24 * 60 * minute
  for (let done = 0; done < entries; done += chunk) {
    const rows = Math.min(chunk, entries - done)
    await insert(rows, `${at(now - week)} + toIntervalMillisecond(intDiv(number * ${week}, ${rows}))`)
  }
  await insert(newEntries, `${at(now - minute)} + toIntervalMillisecond(number)`)
  await engine.command({ sql: `OPTIMIZE TABLE wellhead.${source} FINAL` }, limits)
}
