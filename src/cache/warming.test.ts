import { describe, expect, test } from 'vitest'
import { computedOf, openCache, settled } from '../../test/support/cache.ts'
import { cacheKey } from './cache-key.ts'
import { refreshAgeMs, retryDelayMs } from './cache-policy.ts'

const policy = { cacheSeconds: 900, warmSeconds: 300 }
const keyOf = (name: string) =>
  cacheKey({ endpointId: name, version: 1, tenant: null, parameters: {}, format: 'json' })

/** Keys with a result each, whose refreshes are all due when it returns, one after the other. */
async function due(count: number, options: Partial<Parameters<typeof openCache>[0]> = {}) {
  const opened = openCache({ policy, ...options })
  const keys = Array.from({ length: count }, (_, i) => keyOf(`endpoint ${i}`))
  for (const key of keys) {
    const answer = opened.cache.get(opened.request({ key, recipe: key }))
    opened.land()
    await answer
  }
  opened.time.advance(300_000)
  await settled()
  return { ...opened, keys }
}

describe('refreshes', () => {
  test('are spread over a tenth of their interval, each key at its own place', () => {
    const ages = Array.from({ length: 1000 }, (_, i) => refreshAgeMs(policy, keyOf(`endpoint ${i}`)))
    expect(Math.max(...ages)).toBeLessThanOrEqual(300_000)
    expect(Math.min(...ages)).toBeGreaterThan(270_000)
    const perSecond = new Map<number, number>()
    for (const age of ages) {
      const second = Math.floor(age / 1000)
      perSecond.set(second, (perSecond.get(second) ?? 0) + 1)
    }
    expect(Math.max(...perSecond.values())).toBeLessThan(70)
  })

  test('never run in greater number than they may', async () => {
    const { runs, land } = await due(20, { maxRefreshes: 3 })
    let done = 0
    for (; runs.length > 0; done++) {
      expect(runs.length).toBeLessThanOrEqual(3)
      land()
      await settled()
    }
    expect(done).toBe(20)
  })

  test('give way to callers, but not for so long that callers would have to wait', async () => {
    let busy = true
    const { runs, time, cache, keys } = await due(1, { busy: () => busy })
    expect(runs).toHaveLength(0)
    busy = false
    time.advance(1000)
    expect(runs).toHaveLength(1)
    busy = true
    const other = await due(1, { busy: () => busy })
    other.time.advance(200_000)
    expect(other.runs).toHaveLength(0)
    other.time.advance(120_000)
    expect(other.runs).toHaveLength(1)
    expect(other.cache.lookup(keys[0] ?? '')?.outcome.kind).toBe('hit')
    expect(cache.size).toBe(1)
  })

  test('of broken keys, however slow they are to fail, leave a place for the others', async () => {
    const { runs, time, cache, request, land } = openCache({ policy, maxRefreshes: 2 })
    const keys = Array.from({ length: 10 }, (_, i) => keyOf(`endpoint ${i}`))
    const broken = keys.slice(0, 5)
    for (const key of keys) {
      const answer = cache.get(request({ key, recipe: key }))
      land()
      await answer
    }
    // All fail once, and from then on they hang.
    time.advance(300_000)
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

  test('that fail are tried again after longer and longer times', () => {
    const key = '000000'
    const delays = [1, 2, 3, 4, 5, 6, 7, 8, 2000].map((times) => retryDelayMs(policy, key, times) / 1000)
    expect(delays).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60])
    expect(retryDelayMs({ cacheSeconds: 5, warmSeconds: null }, key, 9)).toBe(5000)
  })

  test('are not tried again at once when a caller was faster and failed', async () => {
    let busy = true
    const { cache, runs, time, keys, request, fail } = await due(1, { busy: () => busy })
    const call = cache.get(request({ key: keys[0] ?? '', directives: { noCache: true } }))
    fail()
    await expect(call).rejects.toMatchObject({ code: 'engine_unavailable' })
    busy = false
    time.advance(400)
    expect(runs).toHaveLength(0)
    time.advance(600)
    expect(runs).toHaveLength(1)
  })

  test('that wait for their turn are forgotten with what they would renew', async () => {
    let busy = true
    const { cache, runs, time } = await due(3, { busy: () => busy })
    cache.drop('group')
    busy = false
    time.advance(1000)
    expect(runs).toHaveLength(0)
  })

  test('that were stopped are not joined', async () => {
    const { cache, runs, request, keys } = await due(1)
    const [refresh] = runs.splice(0)
    const stopped = cache.stop()
    const call = cache.get(request({ key: keys[0] ?? '', directives: { maxAgeSeconds: 200 } }))
    await settled()
    expect(refresh?.signal.aborted).toBe(true)
    runs[0]?.land(computedOf('new'))
    expect((await call)?.result.body.toString()).toBe('new')
    await stopped
  })

  test('end when the cache is stopped, and calls are still answered', async () => {
    const { cache, runs, time, keys, request } = await due(5)
    expect(runs).toHaveLength(2)
    await cache.stop()
    expect(runs.every(({ signal }) => signal.aborted)).toBe(true)
    runs.splice(0)
    time.advance(400_000)
    expect(runs).toHaveLength(0)
    expect(cache.lookup(keys[0] ?? '')?.outcome.kind).toBe('hit')
    const answer = cache.get(request({ key: 'new' }))
    runs[0]?.land(computedOf('new'))
    expect((await answer)?.result.body.toString()).toBe('new')
  })
})

describe('hot keys', () => {
  test('are those that are warmed and were asked for lately, the hottest first', async () => {
    const { cache, keys, request, time, land } = await due(3)
    const unwarmed = cache.get(request({ key: 'x', policy: { cacheSeconds: 900, warmSeconds: null } }))
    await settled()
    for (let i = 0; i < 3; i++) land()
    await unwarmed
    for (let i = 0; i < 5; i++) cache.lookup(keys[2] ?? '')
    for (let i = 0; i < 3; i++) cache.lookup(keys[0] ?? '')
    expect(cache.warmKeys(10).map(({ recipe }) => recipe)).toEqual([keys[2], keys[0], keys[1]])
    expect(cache.warmKeys(1)).toEqual([{ recipe: keys[2], lastUsedMs: time.now(), uses: expect.any(Number) }])
    time.advance(899_000)
    expect(cache.warmKeys(10)).toHaveLength(2)
  })

  test('are told by the recent past: each renewal halves the count', async () => {
    const { cache, request, land, time } = openCache({ policy })
    const key = keyOf('endpoint')
    const first = cache.get(request({ key }))
    land()
    await first
    for (let i = 0; i < 99; i++) cache.lookup(key)
    expect(cache.warmKeys(1)[0]?.uses).toBe(100)
    time.advance(300_000)
    land()
    await settled()
    expect(cache.warmKeys(1)[0]?.uses).toBe(50)
  })

  test('are computed after a restart in their order, and forgotten where nobody asks again', async () => {
    const { cache, request, runs, time, land } = openCache({ policy, maxRefreshes: 1 })
    const hot = ['a', 'b', 'c'].map((name) => ({
      request: request({ key: keyOf(name), recipe: name }),
      lastUsedMs: time.now() - (name === 'b' ? 900_000 : 800_000),
      uses: 3,
    }))
    let done = false
    const prewarmed = cache.prewarm(hot).then(() => {
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
    expect(cache.warmKeys(10).map(({ recipe }) => recipe)).toEqual(['a', 'c'])
    time.advance(300_000)
    await settled()
    expect(runs.map(({ key }) => key)).toEqual([keyOf('a')])
  })

  test('are left alone where a caller was faster', async () => {
    const { cache, request, runs, time, land } = openCache({ policy, maxRefreshes: 1 })
    const requests = ['a', 'b'].map((name) => request({ key: keyOf(name) }))
    const early = cache.get({ ...(requests[1] as (typeof requests)[number]) })
    const prewarmed = cache.prewarm(requests.map((of) => ({ request: of, lastUsedMs: time.now(), uses: 1 })))
    expect(runs).toHaveLength(2)
    land()
    await early
    land()
    await prewarmed
    expect([runs.length, cache.size]).toEqual([0, 2])
  })

  test('that cannot be computed are told, and do not stop the others', async () => {
    const { cache, request, failures, time, land, fail } = openCache({ policy, maxRefreshes: 1 })
    const prewarmed = cache.prewarm(
      ['a', 'b'].map((name) => ({
        request: request({ key: keyOf(name) }),
        lastUsedMs: time.now(),
        uses: 1,
      })),
    )
    fail()
    await settled()
    land()
    await prewarmed
    expect([cache.size, failures.length]).toEqual([1, 1])
  })
})
