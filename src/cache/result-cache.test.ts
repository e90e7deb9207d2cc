import { describe, expect, test } from 'vitest'
import { type OpenCacheOptions, openCache, settled } from '../../test/support/cache.ts'
import { engineUnavailable } from '../base/errors.ts'

const warmed = { cacheSeconds: 900, warmSeconds: 300 }
const unwarmed = { cacheSeconds: 100, warmSeconds: null }

/** A cache with one result in it, and the time since its run began. */
async function opened(policy: OpenCacheOptions['policy'], options: Partial<OpenCacheOptions> = {}) {
  const cache = openCache({ policy, ...options })
  const first = cache.call()
  cache.land()
  expect(await first).toMatch(/^miss/)
  return cache
}

describe('the life of a result', () => {
  test('it is fresh until its seconds are over, and then computed again', async () => {
    const cache = await opened(unwarmed)
    cache.time.advance(89_999)
    expect(await cache.call()).toBe('hit 1')
    expect(cache.runs).toHaveLength(0)
    cache.time.advance(10_001)
    const next = cache.call()
    await settled()
    expect(cache.runs.map(({ purpose }) => purpose)).toEqual(['call'])
    cache.land()
    expect(await next).toBe('stale computed 2')
  })

  test('its age is told with those that belong to it', async () => {
    const cache = await opened(unwarmed)
    cache.time.advance(12_900)
    const { group } = cache.request()
    const second = cache.cache.get(cache.request({ key: 'another' }))
    cache.land()
    await second
    cache.time.advance(3_200)
    expect(cache.cache.groups()).toEqual(
      new Map([[group, { results: 2, bytes: cache.cache.bytes, newestAgeSeconds: 3 }]]),
    )
    cache.cache.drop(group)
    expect(cache.cache.groups()).toEqual(new Map())
  })

  test('in the last tenth of its life a call has it renewed, and does not wait for that', async () => {
    const cache = await opened(unwarmed)
    cache.time.advance(90_000)
    expect(await cache.call()).toBe('hit 1')
    expect(await cache.call()).toBe('hit 1')
    expect(cache.runs.map(({ purpose }) => purpose)).toEqual(['refresh'])
    cache.land()
    await settled()
    expect(await cache.call()).toBe('hit 2')
  })

  test('it is warmed for as long as somebody asked within its life, and no longer', async () => {
    const cache = await opened(warmed)
    let refreshes = 0
    const watch = async (seconds: number) => {
      for (let second = 0; second < seconds; second++) {
        cache.time.advance(1000)
        await settled()
        for (; cache.runs.length > 0; refreshes++) cache.land()
        await settled()
      }
    }
    await watch(890)
    expect(await cache.call()).toBe('hit 4')
    expect(refreshes).toBe(3)
    await watch(2000)
    // Three more within 900 s of that call, and none after.
    expect(refreshes).toBeGreaterThanOrEqual(5)
    expect(refreshes).toBeLessThanOrEqual(6)
  })

  test('after a pause the first caller gets the stale one while it is renewed, up to twice its life', async () => {
    const cache = await opened({ cacheSeconds: 10, warmSeconds: 10 })
    cache.time.advance(9990)
    cache.land()
    await settled()
    const { ageSeconds } = cache.cache.lookup(cache.request().key) ?? {}
    expect(ageSeconds).toBe(0)
    cache.time.advance(9500)
    cache.land()
    await settled()
    cache.time.advance(19_000)
    expect(cache.runs).toHaveLength(0)
    expect(await cache.call()).toBe('stale 3')
    expect(await cache.call()).toBe('stale 3')
    expect(cache.runs.map(({ purpose }) => purpose)).toEqual(['refresh'])
    cache.land()
    await settled()
    expect(await cache.call()).toBe('hit 4')
  })

  test('beyond twice its life the first caller waits', async () => {
    const cache = await opened({ cacheSeconds: 10, warmSeconds: 10 })
    cache.time.advance(9990)
    cache.land()
    await settled()
    cache.time.advance(20_000)
    expect(cache.runs).toHaveLength(0)
    const call = cache.call()
    await settled()
    cache.land()
    expect(await call).toBe('stale computed 3')
  })

  test('a failure of long ago does not make an old result good enough', async () => {
    const cache = await opened({ cacheSeconds: 10, warmSeconds: 10 })
    cache.time.advance(9990)
    cache.fail()
    await settled()
    cache.time.advance(60_000)
    const call = cache.call()
    await settled()
    cache.land()
    expect(await call).toBe('stale computed 2')
  })

  test('a run may find that the previous result still holds', async () => {
    const cache = await opened(unwarmed)
    cache.time.advance(95_000)
    await cache.call()
    const [refresh] = cache.runs
    expect(refresh?.previous?.body.toString()).toBe('1')
    refresh?.land('unchanged')
    await settled()
    cache.time.advance(80_000)
    expect(await cache.call()).toBe('hit 1')
    expect(cache.cache.lookup(cache.request().key)?.ageSeconds).toBe(80)
  })
})

describe('one run', () => {
  test('whoever arrives while a result is computed gets that one', async () => {
    const cache = openCache({ policy: unwarmed })
    const calls = [cache.call(), cache.call(), cache.call()]
    await settled()
    expect(cache.runs).toHaveLength(1)
    cache.land()
    expect(await Promise.all(calls)).toEqual(['miss 1', 'miss joined 1', 'miss joined 1'])
  })

  test('an error goes to all who waited, and is not kept', async () => {
    const cache = openCache({ policy: unwarmed })
    const calls = [cache.call(), cache.call()]
    cache.fail()
    expect(await Promise.all(calls)).toEqual(['error engine_unavailable', 'error engine_unavailable'])
    const again = cache.call()
    cache.land()
    expect(await again).toBe('miss 1')
  })

  test('the first caller leaving stops nothing while another waits; the last one does', async () => {
    const cache = openCache({ policy: warmed })
    const [first, second] = [new AbortController(), new AbortController()]
    const calls = [cache.call({}, first.signal), cache.call({}, second.signal)]
    const [run] = cache.runs
    first.abort(new Error('gone'))
    expect(await calls[0]).toBe('left')
    expect(run?.signal.aborted).toBe(false)
    second.abort(new Error('gone'))
    expect(await calls[1]).toBe('left')
    expect(run?.signal.aborted).toBe(true)
    const after = cache.call()
    await settled()
    cache.runs.shift()
    cache.land()
    expect(await after).toBe('miss 1')
  })

  test('a refresh goes on when the callers that joined it leave', async () => {
    const cache = await opened({ cacheSeconds: 10, warmSeconds: 10 })
    cache.time.advance(10_000)
    const leaving = new AbortController()
    const call = cache.call({ maxAgeSeconds: 5 }, leaving.signal)
    leaving.abort(new Error('gone'))
    expect(await call).toBe('left')
    expect(cache.runs[0]?.signal.aborted).toBe(false)
  })
})

describe('a failure', () => {
  test('of a refresh keeps the last good result up to ten times its life old, and says why', async () => {
    const cache = await opened(warmed)
    for (let second = 1; second < 8999; second++) {
      cache.time.advance(1000)
      await settled()
      while (cache.runs.length > 0) cache.fail()
      await settled()
      const age = second
      if (second % 100 === 0)
        expect(await cache.call()).toBe(age < 900 ? 'hit 1' : 'stale 1 because engine_unavailable')
    }
    // Once a minute at most after the first minutes.
    expect(cache.failures.length).toBeLessThan(190)
    expect(cache.failures.at(-1)).toMatchObject({ group: 'group', times: cache.failures.length })
    cache.time.advance(2000)
    const call = cache.call()
    await settled()
    while (cache.runs.length > 0) cache.fail()
    expect(await call).toBe('error engine_unavailable')
  })

  test('of the run of a caller gives the old result instead of the error, and the next callers do not wait', async () => {
    const cache = await opened(unwarmed)
    cache.time.advance(100_000)
    const call = cache.call()
    await settled()
    cache.fail()
    expect(await call).toBe('stale 1 tried because engine_unavailable')
    expect(await cache.call()).toBe('stale 1 because engine_unavailable')
    expect(cache.runs).toHaveLength(0)
    cache.time.advance(1000)
    expect(await cache.call()).toBe('stale 1 because engine_unavailable')
    expect(cache.runs.map(({ purpose }) => purpose)).toEqual(['refresh'])
    cache.land()
    await settled()
    expect(await cache.call()).toBe('hit 2')
  })

  test('is what a caller hears who wanted a new result', async () => {
    const cache = await opened(warmed)
    cache.time.advance(10_000)
    for (const directives of [{ noCache: true }, { maxAgeSeconds: 5 }]) {
      const call = cache.call(directives)
      await settled()
      cache.fail()
      expect(await call).toBe('error engine_unavailable')
    }
    expect(await cache.call()).toBe('hit 1')
  })

  test('that has no place in the catalogue of errors tells nothing of itself', async () => {
    const cache = await opened(unwarmed)
    cache.time.advance(100_000)
    const call = cache.call()
    await settled()
    cache.fail(new Error('password=hush'))
    expect(await call).toBe('stale 1 tried because internal')
  })
})

describe('what callers ask for', () => {
  test('a run that began before does not do for a caller who directives a new result; the next one does for all', async () => {
    const cache = openCache({ policy: warmed })
    const early = cache.call()
    const late = [
      cache.call({ noCache: true }),
      cache.call({ noCache: true }),
      cache.call({ maxAgeSeconds: 0 }),
    ]
    await settled()
    expect(cache.runs).toHaveLength(1)
    cache.land()
    expect(await early).toBe('miss 1')
    await settled()
    expect(cache.runs).toHaveLength(1)
    cache.land()
    expect(await Promise.all(late)).toEqual(['miss 2', 'miss joined 2', 'miss joined 2'])
  })

  test('callers who ask for a new result within a moment share one run', async () => {
    const cache = await opened(warmed, { gatherMs: 2 })
    const calls = [cache.call({ noCache: true })]
    cache.time.advance(1)
    calls.push(cache.call({ noCache: true }))
    expect(cache.runs).toHaveLength(0)
    cache.time.advance(1)
    expect(cache.runs).toHaveLength(1)
    cache.land()
    expect(await Promise.all(calls)).toEqual(['request computed 2', 'request joined 2'])
  })

  test('max-age takes what is as new as that, be it here or on its way', async () => {
    const cache = await opened(warmed)
    cache.time.advance(5000)
    expect(await cache.call({ maxAgeSeconds: 5 })).toBe('hit 1')
    const calls = [cache.call({ maxAgeSeconds: 4 })]
    cache.time.advance(3000)
    calls.push(cache.call({ maxAgeSeconds: 3 }))
    await settled()
    expect(cache.runs).toHaveLength(1)
    calls.push(cache.call({ maxAgeSeconds: 2 }))
    cache.land()
    await settled()
    cache.land()
    expect(await Promise.all(calls)).toEqual(['request computed 2', 'request joined 2', 'request computed 3'])
  })

  test('only-if-cached takes what is here, stale or not, and begins nothing', async () => {
    const cache = openCache({ policy: warmed })
    expect(await cache.call({ onlyIfCached: true })).toBe('absent')
    expect(cache.runs).toHaveLength(0)
    const call = cache.call()
    cache.land()
    await call
    expect(await cache.call({ onlyIfCached: true })).toBe('hit 1')
    expect(await cache.call({ onlyIfCached: true, noCache: true })).toBe('absent')
  })

  test('a caller that is gone already begins nothing', async () => {
    const cache = openCache({ policy: warmed })
    expect(await cache.call({}, AbortSignal.abort(engineUnavailable('gone')))).toBe('left')
    expect(cache.runs).toHaveLength(0)
  })
})
