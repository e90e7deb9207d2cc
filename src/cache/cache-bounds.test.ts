import { randomBytes } from 'node:crypto'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { computedOf, openCache, settled } from '../../test/support/cache.ts'
import type { ContentCoding } from './cached-result.ts'

const policy = { cacheSeconds: 100, warmSeconds: null }

describe('memory', () => {
  test('one giant result is answered and does not empty the cache', async () => {
    const { cache, request } = openCache({ policy, maxBytes: 100_000 })
    const ask = (key: string, bytes: number) =>
      cache.get(request({ key, compute: async () => computedOf('x'.repeat(bytes)) }))
    await ask('small', 100)
    const giant = await ask('giant', 20_000)
    expect(giant?.outcome).toEqual({ kind: 'computed', why: 'miss', joined: false, stored: false })
    expect(giant?.result.body).toHaveLength(20_000)
    expect([cache.size, cache.lookup('small')?.outcome.kind]).toEqual([1, 'hit'])
  })

  test('a result that grew into a giant replaces the one before it, so that nobody gets that one', async () => {
    const { cache, request } = openCache({ policy, maxBytes: 100_000 })
    const ask = (bytes: number) =>
      cache.get(
        request({ compute: async () => computedOf('x'.repeat(bytes)), directives: { noCache: true } }),
      )
    await ask(100)
    await ask(20_000)
    expect([cache.size, cache.bytes]).toEqual([0, 0])
  })

  test('it counts what results keep beside their bytes', async () => {
    const { cache, request } = openCache({ policy, maxBytes: 2 ** 20 })
    for (let i = 0; i < 2000; i++) {
      await cache.get(
        request({ key: `key ${i}`, recipe: 'r'.repeat(1000), compute: async () => computedOf('{}') }),
      )
    }
    expect(cache.bytes).toBeLessThanOrEqual(2 ** 20)
    expect(cache.size).toBeLessThan(250)
    expect(cache.counters.evicted).toBe(2000 - cache.size)
  })

  test('a result does not keep the larger buffer that it is a piece of', async () => {
    const { cache, request } = openCache({ policy })
    const large = Buffer.alloc(2 ** 20, 'x')
    const piece = { ...computedOf(''), body: large.subarray(0, 2000) }
    const answer = await cache.get(request({ compute: async () => piece }))
    expect(answer?.result.body.buffer.byteLength).toBe(2000)
  })

  test('what belongs to a changed endpoint is forgotten at once, and whoever waits gets the result all the same', async () => {
    const { cache, call, land, runs, time } = openCache({ policy: { cacheSeconds: 10, warmSeconds: 1 } })
    const first = call()
    land()
    await first
    const waiting = call({ noCache: true })
    cache.drop('other')
    expect(cache.size).toBe(1)
    cache.drop('group')
    expect([cache.size, cache.bytes]).toEqual([0, 0])
    const later = call()
    expect(runs).toHaveLength(2)
    land()
    land()
    expect(await waiting).toBe('request computed 2 not stored')
    expect(await later).toBe('miss 3')
    cache.drop('group')
    time.advance(10_000)
    expect(runs).toHaveLength(0)
  })

  test('a run that waited when its endpoint changed does not begin when its callers have left', async () => {
    const { cache, call, land, runs } = openCache({ policy })
    const running = call()
    const leaving = new AbortController()
    const waiting = call({ noCache: true }, leaving.signal)
    await settled()
    cache.drop('group')
    leaving.abort(new Error('gone'))
    expect(await waiting).toBe('left')
    land()
    expect(await running).toBe('miss 1 not stored')
    await settled()
    expect(runs).toHaveLength(0)
  })

  test('a refresh of what was dropped is stopped', async () => {
    const { cache, call, land, runs, time } = openCache({ policy: { cacheSeconds: 10, warmSeconds: 1 } })
    const first = call()
    land()
    await first
    time.advance(1000)
    cache.drop('group')
    expect(runs[0]?.signal.aborted).toBe(true)
    await settled()
    expect(cache.size).toBe(0)
  })
})

describe('forms', () => {
  const body = JSON.stringify({ result: Array.from({ length: 500 }, (_, id) => ({ id, path: '/rest/v1' })) })

  async function stored(text: string | Buffer) {
    const opened = openCache({ policy })
    const { cache, request } = opened
    const ask = () =>
      cache
        .get(request({ compute: async () => computedOf(text), directives: { noCache: true } }))
        .then((answer) => {
          if (answer === undefined) throw new Error('There is an answer.')
          return answer.result
        })
    return { ...opened, ask, result: await ask() }
  }

  test('are made once somebody wanted them, and counted', async () => {
    const { cache, result } = await stored(body)
    const before = cache.bytes
    expect(result.form('gzip').coding).toBe('identity')
    expect(result.form('br').coding).toBe('identity')
    await cache.stop()
    const [identity, gzip, br] = (['identity', 'gzip', 'br'] as ContentCoding[]).map((coding) =>
      result.form(coding),
    )
    expect(gunzipSync(gzip?.body ?? '').toString()).toBe(body)
    expect(brotliDecompressSync(br?.body ?? '').toString()).toBe(body)
    expect(new Set([identity?.etag, gzip?.etag, br?.etag])).toEqual(new Set(result.etags))
    expect(cache.bytes - before).toBe((gzip?.body.length ?? 0) + (br?.body.length ?? 0))
  })

  test('are not made of what is small, and not kept where they are no smaller', async () => {
    for (const text of ['x'.repeat(1000), randomBytes(5000)]) {
      const { cache, result } = await stored(text)
      const before = cache.bytes
      result.form('gzip')
      await cache.stop()
      expect([result.form('gzip').coding, cache.bytes]).toEqual(['identity', before])
    }
  })

  test('are made for two callers who wait at a time, and for others in the background', async () => {
    const all = await Promise.all([stored(body), stored(body), stored(body)])
    const made = await Promise.all(all.map(({ result }) => result.made('gzip')))
    expect(made.map(({ coding }) => coding)).toEqual(['gzip', 'gzip', 'identity'])
    await all[2]?.cache.stop()
    expect((await all[2]?.result.made('gzip'))?.coding).toBe('gzip')
    expect((await all[2]?.result.made('br'))?.coding).toBe('br')
  })

  test.each(['application/vnd.apache.parquet', 'application/vnd.apache.arrow.stream'])(
    'are not made of %s',
    async (contentType) => {
      const { cache, request } = openCache({ policy })
      const answer = await cache.get(
        request({ compute: async () => ({ ...computedOf(body), contentType }), directives: {} }),
      )
      expect((await answer?.result.made('gzip'))?.coding).toBe('identity')
      expect(answer?.result.form('gzip').coding).toBe('identity')
      await cache.stop()
      expect(answer?.result.form('gzip').coding).toBe('identity')
    },
  )

  test('the same bytes have the same tag and keep their forms; other bytes have them made', async () => {
    const { cache, result, ask, request } = await stored(body)
    result.form('gzip')
    await cache.stop()
    const same = await ask()
    expect(same.form('gzip')).toBe(result.form('gzip'))
    const other = await cache.get(
      request({ compute: async () => computedOf(`${body} `), directives: { noCache: true } }),
    )
    await cache.stop()
    expect(other?.result.tag).not.toBe(result.tag)
    expect(other?.result.form('gzip').coding).toBe('gzip')
  })
})
