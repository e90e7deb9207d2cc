import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { KeyModel, type Run, type Seen, type Waiter } from '../../test/support/cache-model.ts'
import { manualTime } from '../base/clock.ts'
import { engineUnavailable } from '../base/errors.ts'
import type { CacheDirectives, CacheRequest, CacheResponse, ComputeRun } from './cache-request.ts'
import type { Computed } from './cached-result.ts'
import { ResultCache } from './result-cache.ts'

/**
 * Random histories of calls, steps of time, results, failures, callers that leave, changed endpoints and
 * restarts, played to the cache and to a model that knows the rules and nothing else: it has no timers and no
 * promises, and looks at every key once a second.
 */

// Keys that begin with zeros are refreshed at whole seconds.
const policies = [
  { key: '000000a', policy: { cacheSeconds: 30, warmSeconds: 10 } },
  { key: '000000b', policy: { cacheSeconds: 20, warmSeconds: null } },
  { key: '000000c', policy: { cacheSeconds: 4, warmSeconds: 4 } },
]

interface RealRun extends ComputeRun {
  key: string
  land: (computed: Computed | 'unchanged') => void
  fail: (error: unknown) => void
}

interface RealCall {
  key: number
  model: Waiter
  seen: Seen
  leave: AbortController
}

class World {
  readonly time = manualTime()
  readonly start = this.time.now()
  models = policies.map(({ policy }) => new KeyModel(policy))
  runs: RealRun[] = []
  calls: RealCall[] = []
  values = 0
  generation = 0
  cache = this.openCache()

  get now(): number {
    return (this.time.now() - this.start) / 1000
  }

  openCache(): ResultCache {
    return new ResultCache({
      time: this.time,
      maxBytes: 2 ** 30,
      maxRefreshes: 100,
      busy: () => false,
      gatherMs: 0,
      onFailure: () => {},
    })
  }

  request(index: number): CacheRequest {
    const { key, policy } = policies[index] as (typeof policies)[number]
    const generation = this.generation
    return {
      key,
      group: key,
      policy,
      recipe: index,
      compute: (run) =>
        new Promise((land, fail) => {
          if (generation !== this.generation) return
          const real = { ...run, key, land, fail }
          this.runs.push(real)
          run.signal.addEventListener('abort', () => {
            this.runs = this.runs.filter((other) => other !== real)
            fail(run.signal.reason)
          })
        }),
    }
  }

  call(key: number, directives: CacheDirectives): void {
    const leave = new AbortController()
    const model = (this.models[key] as KeyModel).call(this.now, directives)
    const call: RealCall = { key, model, seen: { kind: 'waits' }, leave }
    this.calls.push(call)
    this.cache.get({ ...this.request(key), directives, signal: leave.signal }).then(
      (answer) => {
        call.seen = seenOf(answer)
      },
      () => {
        call.seen = { kind: leave.signal.aborted ? 'left' : 'error' }
      },
    )
  }

  advance(seconds: number): void {
    for (let i = 0; i < seconds; i++) {
      this.time.advance(1000)
      for (const model of this.models) model.tick(this.now)
    }
  }

  finish(key: number, pick: number, how: 'new' | 'unchanged' | 'failure'): void {
    const model = this.models[key] as KeyModel
    const reals = this.runs.filter((run) => run.key === policies[key]?.key)
    if (model.runs.length === 0 || reals.length === 0) return
    const at = pick % model.runs.length
    const [run, real] = [model.runs[at] as Run, reals[at] as RealRun]
    this.runs = this.runs.filter((other) => other !== real)
    if (how === 'failure') {
      real.fail(engineUnavailable('away'))
      model.finish(this.now, run, undefined)
      return
    }
    const same = how === 'unchanged' && real.previous !== undefined
    const value = same ? (run.previous as number) : ++this.values
    real.land(same ? 'unchanged' : computed(value))
    model.finish(this.now, run, value)
  }

  leave(pick: number): void {
    const waiting = this.calls.filter(({ model }) => model.seen.kind === 'waits')
    const call = waiting[pick % Math.max(1, waiting.length)]
    if (call === undefined) return
    this.models[call.key]?.leave(this.now, call.model)
    call.leave.abort(new Error('left'))
  }

  drop(key: number): void {
    this.models[key]?.drop(this.now)
    this.cache.drop(policies[key]?.key ?? '')
  }

  async end(): Promise<void> {
    this.generation++
    const stopped = this.cache.stop()
    for (const run of this.runs) run.fail(new Error('The process ended.'))
    this.runs = []
    await stopped
  }

  async restart(): Promise<void> {
    const before = this.models
    const hot = this.cache.warmKeys(10)
    await this.end()
    this.calls = []
    this.cache = this.openCache()
    this.models = policies.map(({ policy }) => new KeyModel(policy))
    void this.cache.prewarm(hot.map((key) => ({ ...key, request: this.request(key.recipe as number) })))
    for (const [index, { entry, warm, life }] of before.entries()) {
      if (!entry || warm === null || this.now - entry.lastUsed >= life) continue
      const model = this.models[index] as KeyModel
      model.begin(this.now, { ...model.plan('refresh', this.now), lastUsed: entry.lastUsed })
    }
  }

  check(): void {
    const { calls, cache, models, runs } = this
    const purposes = (of: { purpose: string }[]) => of.map(({ purpose }) => purpose)
    const actual = {
      seen: calls.map(({ seen }) => seen),
      runs: policies.map(({ key }) => purposes(runs.filter((run) => run.key === key))),
      size: cache.size,
    }
    const expected = {
      seen: calls.map(({ model }) => model.seen),
      runs: models.map((model) => purposes(model.runs)),
      size: models.filter(({ entry }) => entry).length,
    }
    // This is asked a hundred thousand times, and expect takes its time also where all is well.
    if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected)
    this.calls = calls.filter(({ seen }) => seen.kind === 'waits')
  }
}

function computed(value: number): Computed {
  const body = Buffer.from(JSON.stringify({ value }))
  return {
    body,
    contentType: 'application/json',
    rows: 1,
    truncated: false,
    queueMs: 0,
    engineMs: 0,
    rowsRead: 0,
    bytesRead: 0,
  }
}

function seenOf(answer: CacheResponse | undefined): Seen {
  if (answer === undefined) return { kind: 'absent' }
  const { outcome, result, ageSeconds: age } = answer
  const { value } = JSON.parse(result.body.toString()) as { value: number }
  if (outcome.kind === 'computed') return { ...outcome, value, age }
  const failure = outcome.kind === 'stale' ? outcome.failure?.code : undefined
  return { kind: outcome.kind, value, age, ...(failure && { failure }) }
}

/** Promises follow each other through a few turns at most. */
async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve()
}

const key = fc.nat(policies.length - 1)
const directives: fc.Arbitrary<CacheDirectives> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.constant({ noCache: true }) },
  { weight: 1, arbitrary: fc.nat(40).map((maxAgeSeconds) => ({ maxAgeSeconds })) },
  { weight: 1, arbitrary: fc.constant({ onlyIfCached: true }) },
)
type Step =
  | ['call', key: number, directives: CacheDirectives]
  | ['finish', key: number, pick: number, how: 'new' | 'unchanged' | 'failure']
  | ['advance', seconds: number]
  | ['leave', pick: number]
  | ['drop', key: number]
  | ['restart']

const how = fc.constantFrom('new', 'new', 'new', 'unchanged', 'failure', 'failure')
const steps = fc.array(
  fc.oneof(
    { weight: 20, arbitrary: fc.tuple(fc.constant('call'), key, directives) },
    { weight: 20, arbitrary: fc.tuple(fc.constant('finish'), key, fc.nat(5), how) },
    { weight: 10, arbitrary: fc.tuple(fc.constant('advance'), fc.nat(12)) },
    { weight: 3, arbitrary: fc.tuple(fc.constant('advance'), fc.nat(120)) },
    { weight: 3, arbitrary: fc.tuple(fc.constant('leave'), fc.nat(5)) },
    { weight: 2, arbitrary: fc.tuple(fc.constant('drop'), key) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('restart')) },
  ) as fc.Arbitrary<Step>,
  // Without a size histories would be ten steps long at most.
  { maxLength: 60, size: 'max' },
)

function apply(world: World, step: Step): void | Promise<void> {
  switch (step[0]) {
    case 'call':
      return world.call(step[1], step[2])
    case 'finish':
      return world.finish(step[1], step[2], step[3])
    case 'advance':
      return world.advance(step[1])
    case 'leave':
      return world.leave(step[1])
    case 'drop':
      return world.drop(step[1])
    case 'restart':
      return world.restart()
  }
}

test('the cache does what its rules say, whatever happens in whatever order', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      const world = new World()
      for (const step of history) {
        await apply(world, step)
        await settled()
        // What was due the moment that it was stored.
        world.time.advance(0)
        await settled()
        world.check()
      }
      await world.end()
    }),
    { numRuns: 2000 },
  )
})
