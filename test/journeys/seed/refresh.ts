import { describe, expect, test } from 'vitest'
import { Arrivals } from '../../../src/catalog/arrivals.ts'
import { randomOf } from '../../../src/demo/random.ts'
import {
  IncrementalRefresh,
  type PreviousResult,
  spanOf,
} from '../../../src/endpoints/call/incremental-refresh.ts'
import { type OutputFormat, outputFormats } from '../../../src/endpoints/call/output-formats.ts'
import { compileEndpoint } from '../../../src/endpoints/definition/endpoint.ts'
import { many } from '../../support/engines.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { openRunner } from '../endpoints/runner.ts'
import { definitionOf, insert, seedEngine } from './queries.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

const cases: ['usage.api-counts' | 'functions.invocation-stats', string][] = [
  ['usage.api-counts', 'minutely'],
  ['usage.api-counts', 'daily'],
  ['functions.invocation-stats', '1hr'],
  ['functions.invocation-stats', '7day'],
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
      const source = name === 'usage.api-counts' ? 'edge_logs' : 'function_edge_logs'
      const engine = seedEngine()
      const definition = definitionOf(name)
      const endpoint = await compileEndpoint(engine, definition, 1, new Set([source]))
      const runner = openRunner(engine, clock, [source])
      const values = endpoint.compiled.check({ project: 'refreshed', interval })
      const call = { endpoint, values, format, caller: 'x', project: undefined }
      const { incremental } = definition
      const span = incremental && spanOf(incremental, interval)
      if (!incremental || !span) throw new Error('It promises nothing.')
      const arrivals = new Arrivals()
      const ages = [() => below(minute), () => below(hour), () => below(8 * day), () => -below(59 * minute)]
      const send = async () => {
        const entries = Array.from({ length: 1 + below(4) }, () => ({
          project: 'refreshed',
          at: BigInt(clock.now() - (ages[below(4)] as () => number)()) * 1000n,
          metadata: {
            request: { url: 'https://refreshed.example.com', path: ['/rest', '/auth', '/storage'][below(3)] },
            // Whole and half milliseconds have exact sums, in whatever order they are added.
            execution_time_ms: below(1000) / 2,
            response: { status_code: below(2) === 0 ? 200 : 500 },
          },
        }))
        await insert(source, entries)
        for (const { at } of entries) arrivals.note(source, at)
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
      for (let round = 0; round < many(60, 2); round++) {
        // The second comes soon and finds nothing new, so that at least this one is not whole.
        if (round !== 1 && below(4) > 0) await send()
        let inPart = true
        const answer = await refresh.run(kept, (part) => {
          inPart = part.range !== undefined
          return runner.run(call, part)
        })
        inParts.push(inPart)
        const result: PreviousResult = answer === 'unchanged' ? (kept as PreviousResult) : answer
        const whole = await runner.run(call)
        expect(result.body.toString(), `seed ${seed}, round ${round}`).toBe(whole.body.toString())
        kept = result
        clock.advance(round === 0 ? 5 * second : ([5 * second, 5 * minute, 2 * hour][below(3)] as number))
      }
      // The first is whole; that others were not is what this is about.
      expect(inParts[0]).toBe(false)
      expect(inParts).toContain(true)
    })
  })
}
