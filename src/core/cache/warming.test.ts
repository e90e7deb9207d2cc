import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { computedOf, type OpenCacheOptions, openCache, settled } from '../../../test/support/cache.ts'
import { refreshAgeMs, retryDelayMs } from './cache-entries.ts'

const policy = { cacheSeconds: 900, warmSeconds: 300 }
const keyOf = (name: string) => hash('sha256', name, 'hex')

/** A cache with results, all of which are due for a refresh. */
async function openDue(count: number, options: OpenCacheOptions = {}) {
  const opened = openCache({ policy, ...options })
  const { cache, request, time, landed } = opened
  const keys = Array.from({ length: count }, (_, i) => keyOf(`endpoint ${i}`))
  for (const key of keys) await landed(cache.get(request({ key, recipe: key })))
  time.advance(300_000)
  await settled()
  return { ...opened, keys, key: keys[0] as string }
}

describe('refreshes', () => {
  test('are spread over a tenth of their interval', () => {
    const ages = Array.from({ length: 1000 }, (_, i) => refreshAgeMs(policy, keyOf(`endpoint ${i}`)))
    expect(Math.max(...ages)).toBeLessThanOrEqual(300_000)
    expect(Math.min(...ages)).toBeGreaterThan(270_000)
    const seconds = ages.map((age) => Math.floor(age / 1000))
    const perSecond = seconds.map((second) => seconds.filter((other) => other === second).length)
    expect(Math.max(...perSecond)).toBeLessThan(70)
  })

  test('are limited in number', async () => {
    const { runs, land } = await openDue(20, { maxRefreshes: 3 })
    let done = 0
    for (; runs.length > 0; done++) {
      expect(runs.length).toBeLessThanOrEqual(3)
      land()
      await settled()
    }
    expect(done).toBe(20)
  })

  test('give way to requests until they are urgent', async () => {
    let busy = true
    const { runs, time } = await openDue(1, { busy: () => busy })
    expect(runs).toHaveLength(0)
    busy = false
    time.advance(1000)
    expect(runs).toHaveLength(1)
    const other = await openDue(1, { busy: () => true })
    other.time.advance(200_000)
    expect(other.runs).toHaveLength(0)
    other.time.advance(120_000)
    expect(other.runs).toHaveLength(1)
    expect(other.cache.lookup(other.key)?.outcome.kind).toBe('hit')
  })

  test('of keys that fail leave a slot for the others', async () => {
    const { runs, time, cache, keys } = await openDue(10, { maxRefreshes: 2 })
    const broken = keys.slice(0, 5)
    // All of them fail once, and then hang.
    for (let i = 0; i < 20; i++) {
      for (const run of runs.splice(0)) {
        if (broken.includes(run.key)) run.fail(new Error('broken'))
        else run.land(computedOf('again'))
      }
      await settled()
    }
    time.advance(10_000)
    await settled()
    expect(runs.filter(({ key }) => broken.includes(key))).toHaveLength(1)
    for (const key of keys) cache.lookup(key)
    let refreshed = 0
    for (let second = 0; second < 300; second++) {
      time.advance(1000)
      await settled()
      for (const run of runs.filter(({ key }) => !broken.includes(key))) {
        runs.splice(runs.indexOf(run), 1)
        run.land(computedOf('and again'))
        refreshed++
      }
      await settled()
    }
    expect(refreshed).toBeGreaterThanOrEqual(5)
  })

  test('that fail are retried after increasing delays', () => {
    const key = '000000'
    const delays = [1, 2, 3, 4, 5, 6, 7, 8, 2000].map((times) => retryDelayMs(policy, key, times) / 1000)
    expect(delays).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60])
    expect(retryDelayMs({ cacheSeconds: 5, warmSeconds: null }, key, 9)).toBe(5000)
  })

  test('are delayed after the run of a request has failed', async () => {
    let busy = true
    const { cache, runs, time, key, request, failed } = await openDue(1, { busy: () => busy })
    const call = cache.get(request({ key, directives: { noCache: true } }))
    await expect(failed(call)).rejects.toMatchObject({ code: 'engine_unavailable' })
    busy = false
    time.advance(400)
    expect(runs).toHaveLength(0)
    time.advance(600)
    expect(runs).toHaveLength(1)
  })

  test('that wait are dropped with their results', async () => {
    let busy = true
    const { cache, runs, time } = await openDue(3, { busy: () => busy })
    cache.drop('group')
    busy = false
    time.advance(1000)
    expect(runs).toHaveLength(0)
  })

  test('that were stopped cannot be joined', async () => {
    const { cache, runs, request, key } = await openDue(1)
    const [refresh] = runs.splice(0)
    const stopped = cache.stop()
    const call = cache.get(request({ key, directives: { maxAgeSeconds: 200 } }))
    await settled()
    expect(refresh?.signal.aborted).toBe(true)
    runs[0]?.land(computedOf('new'))
    expect((await call)?.result.body.toString()).toBe('new')
    await stopped
  })

  test('end when the cache is stopped, and requests are still served', async () => {
    const { cache, runs, time, key, request, landed } = await openDue(5)
    expect(runs).toHaveLength(2)
    await cache.stop()
    expect(runs.splice(0).every(({ signal }) => signal.aborted)).toBe(true)
    time.advance(400_000)
    expect(runs).toHaveLength(0)
    expect(cache.lookup(key)?.outcome.kind).toBe('hit')
    expect((await landed(cache.get(request({ key: 'new' }))))?.outcome.kind).toBe('computed')
  })
})

describe('warm keys', () => {
  const recipes = (keys: { recipe: unknown }[]) => keys.map(({ recipe }) => recipe)

  test('are those of warmed results in use, the most used first', async () => {
    const { cache, keys, request, time, land } = await openDue(3)
    const unwarmed = cache.get(request({ key: 'x', policy: { cacheSeconds: 900, warmSeconds: null } }))
    await settled()
    for (let i = 0; i < 3; i++) land()
    await unwarmed
    for (let i = 0; i < 5; i++) cache.lookup(keys[2] ?? '')
    for (let i = 0; i < 3; i++) cache.lookup(keys[0] ?? '')
    expect(recipes(cache.warmKeys(10))).toEqual([keys[2], keys[0], keys[1]])
    const [most] = cache.warmKeys(1)
    expect(most).toEqual({ recipe: keys[2], lastUsedMs: time.now(), uses: expect.any(Number) })
    time.advance(899_000)
    expect(cache.warmKeys(10)).toHaveLength(2)
  })

  test('count recent uses more: each refresh halves the count', async () => {
    const { cache, request, land, time, landed } = openCache({ policy })
    const key = keyOf('endpoint')
    await landed(cache.get(request({ key })))
    for (let i = 0; i < 99; i++) cache.lookup(key)
    expect(cache.warmKeys(1)[0]?.uses).toBe(100)
    time.advance(300_000)
    land()
    await settled()
    expect(cache.warmKeys(1)[0]?.uses).toBe(50)
  })

  test('are computed in order after a restart, which does not count as use', async () => {
    const { cache, request, runs, time, land } = openCache({ policy, maxRefreshes: 1 })
    const keys = ['a', 'b', 'c'].map((name) => ({
      call: request({ key: keyOf(name), recipe: name }),
      lastUsedMs: time.now() - (name === 'b' ? 900_000 : 800_000),
      uses: 3,
    }))
    let done = false
    const prewarmed = cache.prewarm(keys).then(() => {
      done = true
    })
    expect(runs.map(({ key }) => key)).toEqual([keyOf('a')])
    land()
    await settled()
    expect(runs.map(({ key, purpose }) => [key, purpose])).toEqual([[keyOf('c'), 'refresh']])
    expect(done).toBe(false)
    land()
    await prewarmed
    expect(cache.lookup(keyOf('a'))?.outcome.kind).toBe('hit')
    expect(recipes(cache.warmKeys(10))).toEqual(['a', 'c'])
    time.advance(300_000)
    await settled()
    expect(runs.map(({ key }) => key)).toEqual([keyOf('a')])
  })

  test('are not computed again if a request was first', async () => {
    const { cache, request, runs, time, land } = openCache({ policy, maxRefreshes: 1 })
    const requests = ['a', 'b'].map((name) => request({ key: keyOf(name) }))
    const early = cache.get({ ...(requests[1] as (typeof requests)[number]) })
    const prewarmed = cache.prewarm(requests.map((of) => ({ call: of, lastUsedMs: time.now(), uses: 1 })))
    expect(runs).toHaveLength(2)
    land()
    await early
    land()
    await prewarmed
    expect([runs.length, cache.size]).toEqual([0, 2])
  })

  test('that cannot be computed are reported and do not stop the others', async () => {
    const { cache, request, failures, time, land, fail } = openCache({ policy, maxRefreshes: 1 })
    const requests = ['a', 'b'].map((name) => request({ key: keyOf(name) }))
    const prewarmed = cache.prewarm(requests.map((of) => ({ call: of, lastUsedMs: time.now(), uses: 1 })))
    fail()
    await settled()
    land()
    await prewarmed
    expect([cache.size, failures.length]).toEqual([1, 1])
  })
})
