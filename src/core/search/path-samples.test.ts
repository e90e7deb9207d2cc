import { expect, test } from 'vitest'
import { manualTime } from '../../../test/support/manual-clock.ts'
import type { Engine, QueryResult } from '../engine/engine.ts'
import { pathSamples } from './path-samples.ts'

/** Answers every query with these rows, or fails. */
function samplesOf(rows: () => object[]) {
  const time = manualTime()
  const statements: string[] = []
  const engine = {
    query: async ({ sql }: { sql: string }) => {
      statements.push(sql)
      return {
        body: Buffer.from(
          rows()
            .map((row) => JSON.stringify(row))
            .join('\n'),
        ),
      } as QueryResult
    },
  } as unknown as Engine
  return {
    time,
    statements,
    samples: pathSamples({ engine, hidden: () => undefined, time, withinMs: 1000, maxSources: 10 }),
  }
}

test('concurrent and later requests share a sample, until it is 30 s old', async () => {
  const { samples, statements, time } = samplesOf(() => [{ entries: 3, path: 'a.b', types: ['Int64'] }])
  const [one, other] = await Promise.all([samples.sample('edge_logs'), samples.sample('edge_logs')])
  expect(one).toEqual({ entries: 3, paths: new Map([['a.b', ['Int64']]]) })
  expect(other).toBe(one)
  time.advance(29_000)
  await samples.sample('edge_logs')
  expect(statements).toHaveLength(2)
  time.advance(2_000)
  await samples.sample('edge_logs')
  expect(statements).toHaveLength(4)
})

test('a failure means that nothing is known, and is not repeated at once', async () => {
  const { samples, statements } = samplesOf(() => {
    throw new Error('too slow')
  })
  expect(await samples.sample('edge_logs')).toBeUndefined()
  expect(await samples.present('edge_logs', [['a']])).toBeUndefined()
  const asked = statements.length
  await samples.sample('edge_logs')
  await samples.present('edge_logs', [['a']])
  expect(statements).toHaveLength(asked)
})

test('paths that were not searched for count as present', async () => {
  const { samples } = samplesOf(() => [{ p0: 0, p1: 1 }])
  expect(await samples.present('edge_logs', [['a'], ['b'], ['c']])).toEqual([false, true, true])
})

test('quotes in keys stay inside of the text that is searched for', async () => {
  const { samples, statements } = samplesOf(() => [])
  await samples.present('edge_logs', [["it's", 'a"b\\']])
  expect(statements[0]).toContain(
    String.raw`position(metadata, '"it\'s"') > 0 AND position(metadata, '"a\\"b\\\\"') > 0 AND JSONHas(metadata, 'it\'s', 'a"b\\')`,
  )
})
