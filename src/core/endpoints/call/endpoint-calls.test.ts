import { expect, test } from 'vitest'
import { manualClock, manualTime } from '../../../../test/support/manual-clock.ts'
import { ResultCache } from '../../cache/result-cache.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Endpoint } from '../definition/endpoint.ts'
import { bindQuery } from '../definition/parameters.ts'
import type { Endpoints } from '../manage/endpoints.ts'
import { type Call, callOf } from './call.ts'
import { EndpointCalls } from './endpoint-calls.ts'
import { EndpointRunner } from './endpoint-runner.ts'
import { type OutputFormat, outputFormats } from './output-formats.ts'
import { QueryQueue } from './query-queue.ts'

const queueLimits = {
  maxRunning: 1,
  maxWaitingPerCaller: 10,
  maxWaiting: 10,
  maxWaitMs: 2_000,
  maxBackgroundWaitMs: 10_000,
}

const engine = { state: () => ({ ready: true, version: '', restarts: 0 }) } as unknown as Engine

function runnerOf(queue: QueryQueue): EndpointRunner {
  return new EndpointRunner({
    engine,
    queue,
    clock: manualClock(),
    maxMemoryBytes: 1,
    maxThreads: 1,
    sources: () => [],
    hidden: () => undefined,
    tables: () => new Map(),
  })
}

/** A sandbox without a cache, and a call of it. */
function sandboxCalls(queue: QueryQueue, time: ReturnType<typeof manualTime>) {
  const cache = new ResultCache<Call>({
    time,
    compute: () => Promise.reject(new Error('unused')),
    recipeOf: () => null,
    maxBytes: 2 ** 20,
    maxRefreshes: 1,
    busy: () => false,
    gatherMs: 0,
    onFailure: () => {},
  })
  const calls = new EndpointCalls({
    engine,
    retentionOf: () => undefined,
    runner: runnerOf(queue),
    cache,
    endpoints: {} as Endpoints,
    arrivals: undefined,
  })
  const query = 'WITH a AS (SELECT 1) SELECT * FROM a'
  const endpoint = {
    definition: { id: 'e', sandbox: true, cache_seconds: null, parameters: {}, query, timeout_seconds: 30 },
    version: 1,
    compiled: bindQuery(query, {}),
    columns: [],
  } as unknown as Endpoint
  const request = {
    endpoint,
    parameters: { sql: 'SELECT 2' },
    format: outputFormats[0] as OutputFormat,
    caller: 'b',
    project: undefined,
    retentionDays: undefined,
  }
  return { calls, request }
}

test('background runs are not refused under load, even if SQL has to be checked first', async () => {
  const time = manualTime()
  const queue = new QueryQueue({ ...queueLimits, time })
  for (let i = 0; i < 200; i++) await queue.run({ caller: 'slow' }, async () => time.advance(30_000))
  // Nothing reaches the engine: one query holds the only slot, and another one waits.
  const leaving = new AbortController()
  const left = expect(
    Promise.all([
      queue.run({ caller: 'a' }, () => new Promise(() => {})),
      queue.run({ caller: 'a', signal: leaving.signal }, async () => {}),
    ]),
  ).rejects.toThrow('left')
  const { calls, request } = sandboxCalls(queue, time)
  const call = callOf(request)
  const foreground = calls.call({ ...call, signal: leaving.signal, directives: {} })
  await expect(foreground).rejects.toMatchObject({ code: 'overloaded' })
  const followed = expect(calls.latest(calls.follow(call), leaving.signal)).rejects.toThrow('left')
  await new Promise((resolve) => setImmediate(resolve))
  expect(queue.waiting).toBe(2)
  leaving.abort(new Error('left'))
  await Promise.all([left, followed])
})

test('the SQL of a sandbox is searched for sources once, not for each call', () => {
  const time = manualTime()
  const { request } = sandboxCalls(new QueryQueue({ ...queueLimits, time }), time)
  expect(callOf(request).sources).toBe(callOf(request).sources)
})

test('tokens of one project share its turns, and those of others have their own', async () => {
  const queue = new QueryQueue({ ...queueLimits, maxRunning: 4, time: manualTime() })
  const runner = runnerOf(queue)
  let release = () => {}
  const slow = new Promise<void>((resolve) => {
    release = resolve
  })
  const turns = ['one', 'two', 'three'].map((caller) =>
    runner.inTurn({ caller, project: 'busy' }, () => slow),
  )
  expect([queue.running, queue.waiting]).toEqual([2, 1])
  expect(await runner.inTurn({ caller: 'one', project: 'calm' }, async () => 'at once')).toBe('at once')
  expect(await runner.inTurn({ caller: 'four', project: undefined }, async () => 'at once')).toBe('at once')
  release()
  await Promise.all(turns)
  expect([queue.running, queue.waiting]).toEqual([0, 0])
})
