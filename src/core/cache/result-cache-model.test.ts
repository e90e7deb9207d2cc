import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  computedOf,
  openCache,
  type PendingRun,
  settled,
  type TestCall,
} from '../../../test/support/cache.ts'
import { KeyModel, type Run, type Seen, type Waiter } from '../../../test/support/cache-model.ts'
import { manualTime } from '../../../test/support/manual-clock.ts'
import { engineUnavailable } from '../base/errors.ts'
import type { CacheDirectives, CallResponse } from './cacheable.ts'

// Keys that start with zeros are refreshed at whole seconds.
const policies = [
  { key: '000000a', policy: { cacheSeconds: 30, warmSeconds: 10 } },
  { key: '000000b', policy: { cacheSeconds: 20, warmSeconds: null } },
  { key: '000000c', policy: { cacheSeconds: 4, warmSeconds: 4 } },
]

interface RealCall {
  key: number
  model: Waiter
  seen: Seen
  leave: AbortController
}

/** Plays the same history to the cache and to a model that has no timers and no promises. */
class World {
  readonly time = manualTime()
  readonly start = this.time.now()
  models = policies.map(({ policy }) => new KeyModel(policy))
  calls: RealCall[] = []
  values = 0
  opened = this.open()

  open() {
    return openCache({ time: this.time, maxBytes: 2 ** 30, maxRefreshes: 100 })
  }

  get now(): number {
    return (this.time.now() - this.start) / 1000
  }

  get runs(): PendingRun[] {
    return this.opened.runs.filter(({ signal }) => !signal.aborted)
  }

  request(index: number): TestCall {
    const { key, policy } = policies[index] as (typeof policies)[number]
    return this.opened.request({ key, group: key, policy, recipe: index })
  }

  call(key: number, directives: CacheDirectives): void {
    const leave = new AbortController()
    const model = (this.models[key] as KeyModel).call(this.now, directives)
    const call: RealCall = { key, model, seen: { kind: 'waits' }, leave }
    this.calls.push(call)
    this.opened.cache.get({ ...this.request(key), directives, signal: leave.signal }).then(
      (response) => {
        call.seen = seenOf(response)
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

  finish(key: number, pick: number, how: 'new' | 'same' | 'failure'): void {
    const model = this.models[key] as KeyModel
    const reals = this.runs.filter((run) => run.key === policies[key]?.key)
    if (model.runs.length === 0 || reals.length === 0) return
    const at = pick % model.runs.length
    const [run, real] = [model.runs[at] as Run, reals[at] as PendingRun]
    this.opened.runs.splice(this.opened.runs.indexOf(real), 1)
    if (how === 'failure') {
      real.fail(engineUnavailable('away'))
      model.finish(this.now, run, undefined)
      return
    }
    const same = how === 'same' && run.previous !== undefined
    const value = same ? (run.previous as number) : ++this.values
    real.land(computedOf(String(value)))
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
    this.opened.cache.drop(policies[key]?.key ?? '')
  }

  async end(): Promise<void> {
    const stopped = this.opened.cache.stop()
    for (const run of this.opened.runs.splice(0)) run.fail(new Error('The process ended.'))
    await stopped
  }

  async restart(): Promise<void> {
    const before = this.models
    const warm = this.opened.cache.warmKeys(10)
    await this.end()
    this.calls = []
    this.opened = this.open()
    this.models = policies.map(({ policy }) => new KeyModel(policy))
    const keys = warm.map((key) => ({ ...key, call: this.request(key.recipe as number) }))
    void this.opened.cache.prewarm(keys)
    for (const [index, { entry, warm, life }] of before.entries()) {
      if (!entry || warm === null || this.now - entry.lastUsed >= life) continue
      const model = this.models[index] as KeyModel
      model.begin(this.now, { ...model.plan('refresh', this.now), lastUsed: entry.lastUsed })
    }
  }

  check(): void {
    const { calls, opened, models, runs } = this
    const purposes = (of: { purpose: string }[]) => of.map(({ purpose }) => purpose)
    const actual = {
      seen: calls.map(({ seen }) => seen),
      runs: policies.map(({ key }) => purposes(runs.filter((run) => run.key === key))),
      size: opened.cache.size,
    }
    const expected = {
      seen: calls.map(({ model }) => model.seen),
      runs: models.map((model) => purposes(model.runs)),
      size: models.filter(({ entry }) => entry).length,
    }
    // Compared first, since expect is slow and this runs a hundred thousand times.
    if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected)
    this.calls = calls.filter(({ seen }) => seen.kind === 'waits')
  }
}

function seenOf(response: CallResponse | undefined): Seen {
  if (response === undefined) return { kind: 'absent' }
  const { outcome, result, ageSeconds: age } = response
  const value = Number(result.body.toString())
  if (outcome.kind === 'computed') return { ...outcome, value, age }
  const kind = outcome.kind === 'stale' ? 'stale' : 'hit'
  const failure = outcome.kind === 'stale' ? outcome.failure?.code : undefined
  return { kind, value, age, ...(failure && { failure }) }
}

const key = fc.nat(policies.length - 1)
const directives: fc.Arbitrary<CacheDirectives> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.constant({ noCache: true }) },
  { weight: 1, arbitrary: fc.nat(40).map((maxAgeSeconds) => ({ maxAgeSeconds })) },
  { weight: 1, arbitrary: fc.constant({ onlyIfCached: true }) },
)
type Step = ['call' | 'finish' | 'advance' | 'leave' | 'drop' | 'restart', ...unknown[]]

const how = fc.constantFrom('new', 'new', 'new', 'same', 'failure', 'failure')
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
  // Without a size, histories have at most ten steps.
  { maxLength: 60, size: 'max' },
)

async function play(history: Step[]): Promise<void> {
  const world = new World()
  for (const [name, ...values] of history) {
    await (world[name] as (...values: unknown[]) => unknown).apply(world, values)
    await settled()
    // Runs timers that became due when a result was stored.
    world.time.advance(0)
    await settled()
    world.check()
  }
  await world.end()
}

test('the cache behaves like the model in random histories', async () => {
  await fc.assert(fc.asyncProperty(steps, play), { numRuns: 500 })
})

test('a result ends at its maximum age, also if the next retry is later', async () => {
  await play([
    ['call', 2, {}],
    ['advance', 23],
    ['finish', 2, 0, 'new'],
    ['advance', 2],
    ['call', 2, {}],
    ['advance', 6],
    ['finish', 2, 0, 'failure'],
    ['call', 2, {}],
    ['advance', 7],
    ['call', 2, { noCache: true }],
    ['finish', 2, 0, 'failure'],
    ['finish', 2, 0, 'failure'],
    ['advance', 2],
  ])
})
