import { describe, expect, test } from 'vitest'
import { computedOf, type OpenCacheOptions, openCache, settled } from '../../../test/support/cache.ts'
import { engineUnavailable } from '../base/errors.ts'
import type { CachePolicy } from './cacheable.ts'

const warmed = { cacheSeconds: 900, warmSeconds: 300 }
const unwarmed = { cacheSeconds: 100, warmSeconds: null }
const short = { cacheSeconds: 10, warmSeconds: 10 }

/** A cache with one result. */
async function opened(policy: CachePolicy, options: OpenCacheOptions = {}) {
  const cache = openCache({ policy, ...options })
  expect(await cache.landed(cache.call())).toBe('miss 1')
  const refreshed = async () => {
    cache.land()
    await settled()
  }
  return { ...cache, refreshed, purposes: () => cache.runs.map(({ purpose }) => purpose) }
}

describe('a result', () => {
  test('is fresh for its lifetime, and then computed again', async () => {
    const { time, call, purposes, landed } = await opened(unwarmed)
    time.advance(89_999)
    expect(await call()).toBe('hit 1')
    expect(purposes()).toEqual([])
    time.advance(10_001)
    const next = call()
    await settled()
    expect(purposes()).toEqual(['call'])
    expect(await landed(next)).toBe('stale computed 2')
  })

  test('counts in its group', async () => {
    const { cache, time, request, landed } = await opened(unwarmed)
    time.advance(12_900)
    const { group } = request()
    await landed(cache.get(request({ key: 'another' })))
    time.advance(3_200)
    expect(cache.groups()).toEqual(
      new Map([[group, { results: 2, bytes: cache.bytes, newest_age_seconds: 3 }]]),
    )
    cache.drop(group)
    expect(cache.groups()).toEqual(new Map())
  })

  test('is refreshed by a request in the last tenth of its lifetime, which does not wait', async () => {
    const { time, call, purposes, refreshed } = await opened(unwarmed)
    time.advance(90_000)
    expect(await call()).toBe('hit 1')
    expect(await call()).toBe('hit 1')
    expect(purposes()).toEqual(['refresh'])
    await refreshed()
    expect(await call()).toBe('hit 2')
  })

  test('is kept warm for one lifetime after its last request', async () => {
    const { time, runs, call, land } = await opened(warmed)
    let refreshes = 0
    const pass = async (seconds: number) => {
      for (let second = 0; second < seconds; second++) {
        time.advance(1000)
        await settled()
        for (; runs.length > 0; refreshes++) land()
        await settled()
      }
    }
    await pass(890)
    expect(await call()).toBe('hit 4')
    expect(refreshes).toBe(3)
    await pass(2000)
    // Three more within 900 s of that request, and none after.
    expect(refreshes).toBeGreaterThanOrEqual(5)
    expect(refreshes).toBeLessThanOrEqual(6)
  })

  test('is served stale after a pause, up to twice its lifetime, while it is refreshed', async () => {
    const { cache, time, request, runs, call, purposes, refreshed } = await opened(short)
    time.advance(9990)
    await refreshed()
    expect(cache.lookup(request().key)?.ageSeconds).toBe(0)
    time.advance(9500)
    await refreshed()
    time.advance(19_000)
    expect(runs).toHaveLength(0)
    expect(await call()).toBe('stale 3')
    expect(await call()).toBe('stale 3')
    expect(purposes()).toEqual(['refresh'])
    await refreshed()
    expect(await call()).toBe('hit 4')
  })

  test('is computed for the first request after more than twice its lifetime', async () => {
    const { time, runs, call, refreshed, landed } = await opened(short)
    time.advance(9990)
    await refreshed()
    time.advance(20_000)
    expect(runs).toHaveLength(0)
    expect(await landed(call())).toBe('stale computed 3')
  })

  test('is not served stale because of an old failure', async () => {
    const { time, call, fail, landed } = await opened(short)
    time.advance(9990)
    fail()
    await settled()
    time.advance(60_000)
    expect(await landed(call())).toBe('stale computed 2')
  })

  test('gets a new lifetime if a run finds the same', async () => {
    const { cache, time, runs, request, call } = await opened(unwarmed)
    time.advance(95_000)
    await call()
    runs[0]?.land(computedOf('1'))
    await settled()
    time.advance(80_000)
    expect(await call()).toBe('hit 1')
    expect(cache.lookup(request().key)?.ageSeconds).toBe(80)
  })
})

describe('a run', () => {
  test('is shared by all requests that arrive during it', async () => {
    const { call, runs, landed } = openCache({ policy: unwarmed })
    const calls = [call(), call(), call()]
    await settled()
    expect(runs).toHaveLength(1)
    expect(await landed(Promise.all(calls))).toEqual(['miss 1', 'miss joined 1', 'miss joined 1'])
  })

  test('that fails sends the error to all requests that waited, and the error is not cached', async () => {
    const { call, failed, landed } = openCache({ policy: unwarmed })
    const error = 'error engine_unavailable'
    expect(await failed(Promise.all([call(), call()]))).toEqual([error, error])
    expect(await landed(call())).toBe('miss 1')
  })

  test('is stopped when the last request leaves', async () => {
    const { call, runs, landed } = openCache({ policy: warmed })
    const [first, second] = [new AbortController(), new AbortController()]
    const calls = [call({}, first.signal), call({}, second.signal)]
    const [run] = runs
    first.abort(new Error('gone'))
    expect(await calls[0]).toBe('left')
    expect(run?.signal.aborted).toBe(false)
    second.abort(new Error('gone'))
    expect(await calls[1]).toBe('left')
    expect(run?.signal.aborted).toBe(true)
    const after = call()
    await settled()
    runs.shift()
    expect(await landed(after)).toBe('miss 1')
  })

  test('goes on without requests if it is a refresh', async () => {
    const { time, call, runs } = await opened(short)
    time.advance(10_000)
    const leaving = new AbortController()
    const joined = call({ maxAgeSeconds: 5 }, leaving.signal)
    leaving.abort(new Error('gone'))
    expect(await joined).toBe('left')
    expect(runs[0]?.signal.aborted).toBe(false)
  })
})

describe('after a failure', () => {
  test('of a refresh, the last result is served for up to ten lifetimes, with the reason', async () => {
    const { time, runs, call, fail, failed, failures } = await opened(warmed)
    for (let age = 1; age < 8999; age++) {
      time.advance(1000)
      await settled()
      while (runs.length > 0) fail()
      await settled()
      if (age % 100 > 0) continue
      expect(await call()).toBe(age < 900 ? 'hit 1' : 'stale 1 because engine_unavailable')
    }
    // At most once a minute after the first minutes.
    expect(failures.length).toBeLessThan(190)
    expect(failures.at(-1)).toMatchObject({ group: 'group', times: failures.length })
    time.advance(2000)
    expect(await failed(call())).toBe('error engine_unavailable')
  })

  test('of a run for a request, the stale result is served, and later requests do not wait', async () => {
    const { time, call, runs, purposes, failed, refreshed } = await opened(unwarmed)
    time.advance(100_000)
    expect(await failed(call())).toBe('stale 1 tried because engine_unavailable')
    expect(await call()).toBe('stale 1 because engine_unavailable')
    expect(runs).toHaveLength(0)
    time.advance(1000)
    expect(await call()).toBe('stale 1 because engine_unavailable')
    expect(purposes()).toEqual(['refresh'])
    await refreshed()
    expect(await call()).toBe('hit 2')
  })

  test('a request that requires a newer result gets the error', async () => {
    const { time, call, failed } = await opened(warmed)
    time.advance(10_000)
    for (const directives of [{ noCache: true }, { maxAgeSeconds: 5 }]) {
      expect(await failed(call(directives))).toBe('error engine_unavailable')
    }
    expect(await call()).toBe('hit 1')
  })

  test('the text of an unexpected error is not shown', async () => {
    const { time, call, failed } = await opened(unwarmed)
    time.advance(100_000)
    expect(await failed(call(), new Error('password=hush'))).toBe('stale 1 tried because internal')
  })
})

describe('directives', () => {
  test('no-cache waits for a run that starts after the request, and shares it', async () => {
    const { call, runs, landed } = openCache({ policy: warmed })
    const early = call()
    const late = [{ noCache: true }, { noCache: true }, { maxAgeSeconds: 0 }].map((wanted) => call(wanted))
    await settled()
    expect(runs).toHaveLength(1)
    expect(await landed(early)).toBe('miss 1')
    await settled()
    expect(runs).toHaveLength(1)
    expect(await landed(Promise.all(late))).toEqual(['miss 2', 'miss joined 2', 'miss joined 2'])
  })

  test('no-cache shares one run with requests that arrive a moment later', async () => {
    const { call, runs, time, landed } = await opened(warmed, { gatherMs: 2 })
    const calls = [call({ noCache: true })]
    time.advance(1)
    calls.push(call({ noCache: true }))
    expect(runs).toHaveLength(0)
    time.advance(1)
    expect(runs).toHaveLength(1)
    expect(await landed(Promise.all(calls))).toEqual(['request computed 2', 'request joined 2'])
  })

  test('max-age accepts a cached result and a run that are new enough', async () => {
    const { call, runs, time, refreshed, landed } = await opened(warmed)
    time.advance(5000)
    expect(await call({ maxAgeSeconds: 5 })).toBe('hit 1')
    const calls = [call({ maxAgeSeconds: 4 })]
    time.advance(3000)
    calls.push(call({ maxAgeSeconds: 3 }))
    await settled()
    expect(runs).toHaveLength(1)
    calls.push(call({ maxAgeSeconds: 2 }))
    await refreshed()
    const seen = ['request computed 2', 'request joined 2', 'request computed 3']
    expect(await landed(Promise.all(calls))).toEqual(seen)
  })

  test('only-if-cached never starts a run', async () => {
    const { call, runs, landed } = openCache({ policy: warmed })
    expect(await call({ onlyIfCached: true })).toBe('absent')
    expect(runs).toHaveLength(0)
    await landed(call())
    expect(await call({ onlyIfCached: true })).toBe('hit 1')
    expect(await call({ onlyIfCached: true, noCache: true })).toBe('absent')
  })

  test('a request that was aborted before starts no run', async () => {
    const { call, runs } = openCache({ policy: warmed })
    expect(await call({}, AbortSignal.abort(engineUnavailable('gone')))).toBe('left')
    expect(runs).toHaveLength(0)
  })
})
