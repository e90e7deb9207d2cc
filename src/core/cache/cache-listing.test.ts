import { expect, test } from 'vitest'
import { openCache, settled } from '../../../test/support/cache.ts'

const warmed = { cacheSeconds: 100, warmSeconds: 50 }

test('a listed result has its age, its use and its state', async () => {
  const { cache, request, landed, time } = openCache({ policy: { cacheSeconds: 100, warmSeconds: null } })
  await landed(cache.get(request()))
  time.advance(10_000)
  cache.lookup(request().key)
  time.advance(20_500)
  expect(cache.resultsOf('group')).toEqual([
    {
      key: request().key,
      recipe: request().recipe,
      age_seconds: 30,
      expires_in_seconds: 70,
      refresh_in_seconds: null,
      bytes: expect.any(Number),
      rows: 1,
      uses: 2,
      last_used_seconds: 20,
      state: 'fresh',
      warm: false,
      failure: null,
    },
  ])
  time.advance(70_000)
  expect(cache.resultsOf('group')).toMatchObject([{ state: 'expired', expires_in_seconds: 0 }])
  expect(cache.resultsOf('another group')).toEqual([])
})

test('a warmed result has its next refresh, and why the last one failed', async () => {
  const { cache, request, landed, time, fail } = openCache({ policy: warmed })
  await landed(cache.get(request()))
  const [fresh] = cache.resultsOf('group')
  expect(fresh).toMatchObject({ warm: true, failure: null })
  expect(fresh?.refresh_in_seconds).toBeGreaterThan(40)
  time.advance(50_000)
  await settled()
  fail()
  await settled()
  const [failed] = cache.resultsOf('group')
  expect(failed).toMatchObject({ failure: 'engine_unavailable', refresh_in_seconds: 1 })
  time.advance(60_000)
  expect(cache.resultsOf('group')).toMatchObject([{ state: 'stale', warm: false, refresh_in_seconds: null }])
})

test('results are listed by use', async () => {
  const { cache, request, landed } = openCache()
  const keys = ['a', 'b', 'c'].map((letter) => letter.repeat(64))
  for (const key of keys) await landed(cache.get(request({ key })))
  for (const key of ['c', 'c', 'b']) cache.lookup(key.repeat(64))
  expect(cache.resultsOf('group').map(({ key }) => key[0])).toEqual(['c', 'b', 'a'])
})
