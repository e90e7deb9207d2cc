import { describe, expect, test } from 'vitest'
import { Arrivals } from '../../../src/catalog/arrivals.ts'
import { randomOf } from '../../../src/demo/random.ts'
import {
  IncrementalRefresh,
  type PreviousResult,
  spanOf,
} from '../../../src/endpoints/call/incremental-refresh.ts'
import { type OutputFormat, outputFormats } from '../../../src/endpoints/call/output-formats.ts'
import { definitionShape, type EndpointDefinition } from '../../../src/endpoints/definition/definition.ts'
import { compileEndpoint } from '../../../src/endpoints/definition/endpoint.ts'
import { many } from '../../support/engines.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { openRunner } from '../endpoints/runner.ts'
import { definitionOf, insert, seedEngine } from './queries.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** A row can appear because entries leave the window, and time can reach an entry of the future. */
const rareMinutes: EndpointDefinition = definitionShape.parse({
  id: '3f1a8f52-9f0f-4a45-8d5e-0d4f4c4a7a55',
  name: 'rare-minutes',
  query:
    "SELECT toDateTime64(toStartOfMinute(edge_logs.timestamp), 6, 'UTC') AS timestamp, count() AS n FROM edge_logs " +
    'WHERE project = @project AND edge_logs.timestamp > @now - INTERVAL 1 HOUR AND edge_logs.timestamp <= @now ' +
    'GROUP BY timestamp HAVING n < 3 ORDER BY timestamp',
  parameters: { project: { required: true } },
  cache_seconds: 900,
  incremental: { column: 'timestamp', otherwise: { window_seconds: 3600, bucket_seconds: 60 } },
})

/** The window ends before the time of the run. */
const delayedMinutes: EndpointDefinition = definitionShape.parse({
  ...rareMinutes,
  id: '0d6d8b0e-5a52-4c0f-9d8c-6b1f2f0f5b11',
  name: 'delayed-minutes',
  query:
    "SELECT toDateTime64(toStartOfMinute(edge_logs.timestamp), 6, 'UTC') AS timestamp, count() AS n FROM edge_logs " +
    'WHERE project = @project AND edge_logs.timestamp > @now - INTERVAL 1 HOUR ' +
    'AND edge_logs.timestamp <= @now - INTERVAL 4 MINUTE GROUP BY timestamp ORDER BY timestamp',
})

const cases: [name: string, interval: string][] = [
  ['usage.api-counts', 'minutely'],
  ['usage.api-counts', 'daily'],
  ['functions.invocation-stats', '1hr'],
  ['functions.invocation-stats', '7day'],
  ['rare-minutes', 'always'],
  ['delayed-minutes', 'always'],
]

export function describeRefresh(): void {
  describe('a result that is refreshed by its newest part', () => {
    test.each(cases)('of %s, %s, is the whole one, byte for byte', async (name, interval) => {
      const seed = Number(process.env.WELLHEAD_TEST_SEED ?? Date.now() % 100_000)
      const random = randomOf(seed).next
      const below = (limit: number) => Math.floor(random() * limit)
      // A year of its own, so that the entries of others are out of its window.
      const clock = manualClock(
        Date.UTC(2031 + cases.findIndex((c) => c[0] === name && c[1] === interval), 4, 5, 12, 30, 15),
      )
      const [format] = outputFormats as [OutputFormat]
      const source = name === 'functions.invocation-stats' ? 'function_edge_logs' : 'edge_logs'
      const engine = seedEngine()
      const own = [rareMinutes, delayedMinutes].find((definition) => definition.name === name)
      const definition = own ?? definitionOf(name)
      const endpoint = await compileEndpoint(engine, definition, 1, new Set([source]))
      const runner = openRunner(engine, clock, [source])
      const values = endpoint.compiled.check({ project: 'refreshed', interval })
      const call = { endpoint, values, format, caller: 'x', project: undefined }
      const { incremental } = definition
      const span = incremental && spanOf(incremental, interval)
      if (!incremental || !span) throw new Error('It promises nothing.')
      const arrivals = new Arrivals()
      const ages = [() => below(minute), () => below(hour), () => below(8 * day), () => -below(59 * minute)]
      /** Of one day, so that they are one part of the table, which queries read as a whole. */
      const today = () => below(Math.min(hour, clock.now() % day))
      const send = async (age: () => number) => {
        const entries = Array.from({ length: 1 + below(4) }, () => ({
          project: 'refreshed',
          at: BigInt(clock.now() - age()) * 1000n,
          metadata: {
            request: { url: 'https://refreshed.example.com', path: ['/rest', '/auth', '/storage'][below(3)] },
            // Whole and half milliseconds have exact sums, in whatever order they are added.
            execution_time_ms: below(1000) / 2,
            response: { status_code: below(2) === 0 ? 200 : 500 },
          },
        }))
        const ends = entries.map(({ at }) => arrivals.begin(source, at))
        await insert(source, entries)
        for (const end of ends) end()
      }
      const refresh = new IncrementalRefresh({
        clock,
        arrivals,
        sources: [source],
        column: incremental.column,
        span,
        wholeBuckets: incremental.whole_buckets,
        maxRows: definition.max_rows,
      })
      const inParts: boolean[] = []
      let kept: PreviousResult | undefined
      // A result without a row is computed as a whole.
      let minutes = 10
      await send(() => minutes++ * minute)
      for (let round = 0; round < many(60, 4); round++) {
        // The second comes soon and finds nothing new, so that at least this one is not whole.
        if (round !== 1 && below(4) > 0) await send(ages[below(4)] as () => number)
        const before = await runner.run(call)
        // A request that arrives while a run waits for its turn or reads is in its result with all of its entries or none.
        let sending: Promise<void> | undefined
        const [isDisturbed, isWaiting] = [round > 1 && below(3) > 0, below(2) > 0]
        inParts.push(true)
        kept = await refresh.run(kept, async (part) => {
          if (isDisturbed) sending ??= send(today)
          if (isWaiting) await sending
          if (part.range === undefined) inParts[round] = false
          return runner.run(call, part)
        })
        await sending
        const after = await runner.run(call)
        const either = [before, after].map(({ body }) => body.toString())
        expect(either, `seed ${seed}, round ${round}`).toContain(kept.body.toString())
        clock.advance(round === 0 ? 5 * second : ([5 * second, 5 * minute, 2 * hour][below(3)] as number))
      }
      // The first is whole; that others were not is what this is about.
      expect(inParts[0]).toBe(false)
      expect(inParts).toContain(true)
    })
  })
}
