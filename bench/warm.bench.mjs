/**
 * What the renewal of a cached result costs: everything computed again, against only what changed, as the window holds
 * more and more entries and the same number of new ones comes. Both on the same engine, in alternating rounds.
 */
import { readFileSync } from 'node:fs'
import { readDefinition } from '../dist/endpoints/definition-file.js'
import { compileEndpoint } from '../dist/endpoints/endpoint.js'
import { EndpointRunner } from '../dist/endpoints/endpoint-runner.js'
import { planRenewal, spanOf } from '../dist/endpoints/incremental.js'
import { outputFormats } from '../dist/endpoints/output-formats.js'
import { QueryQueue } from '../dist/endpoints/query-queue.js'
import { median, numberFrom, table } from './support/figures.mjs'
import { openService } from './support/service.mjs'

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

export async function run({ engineNode, patience, quick }) {
  const largest = numberFrom('BENCH_ENTRIES', quick ? 1e5 : 1e7)
  const rounds = numberFrom('BENCH_ROUNDS', quick ? 3 : 9)
  const service = await openService({ engineNode, patience })
  const now = Date.now()
  const clock = { now: () => now }
  const sources = new Set(cases.map(({ source }) => source))
  const runner = new EndpointRunner({
    engine: service.engine,
    queue: new QueryQueue({ maxRunning: 1, maxWaitingPerCaller: 1, maxWaiting: 1 }),
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
        rows.push({
          entries,
          ...(await measure({ service, runner, sources, file, parameters, now, rounds })),
        })
      }
    }
    return table(`Renewing a cached result after ${newEntries} new entries, ${rounds} rounds`, rows)
  } finally {
    await service.close()
  }
}

async function measure({ service, runner, sources, file, parameters, now, rounds }) {
  const text = readFileSync(new URL(`../endpoints/${file}.sql`, import.meta.url), 'utf8')
  const { definition } = readDefinition(`${file}.sql`, text)
  const endpoint = await compileEndpoint(service.engine, definition, 1, sources)
  const { incremental } = definition
  const nowMicros = BigInt(now) * 1000n
  const plan = planRenewal({
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
  const times = { whole: [], part: [] }
  for (let round = 0; round <= rounds; round++) {
    for (const [side, part] of [
      ['whole', {}],
      ['part', { range: plan.part.range }],
    ]) {
      const { engineMs } = await runner.run(call, part)
      // The first round warms both sides.
      if (round > 0) times[side].push(engineMs)
    }
  }
  const read = async (part) =>
    (await runner.explain(call, part)).reads.reduce((sum, { rows }) => sum + rows, 0)
  const [whole, part] = [median(times.whole), median(times.part)]
  return {
    endpoint: file,
    'whole: rows': await read({}),
    'part: rows': await read({ range: plan.part.range }),
    'whole ms': whole.toFixed(1),
    'part ms': part.toFixed(1),
    ratio: (part / whole).toFixed(2),
  }
}

/** Entries over the last seven days, of one project, and a few of the last minute. */
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
          `SELECT 'abc', toString(number), ${timestamp}, '', ${metadata}::JSON FROM numbers(${rows})`,
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
