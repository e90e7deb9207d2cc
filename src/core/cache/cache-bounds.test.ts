import { randomBytes } from 'node:crypto'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { computedOf, openCache, settled } from '../../../test/support/cache.ts'
import type { CacheDirectives } from './cacheable.ts'
import type { Result } from './result.ts'

const policy = { cacheSeconds: 10, warmSeconds: 1 }

/** A cache whose runs end at once. */
function openFilled(maxBytes = 2 ** 20) {
  const { cache, request } = openCache({ maxBytes })
  const ask = async (
    key: string,
    body: string | Buffer,
    directives: CacheDirectives = {},
    of: Partial<Result> = {},
  ) => {
    const compute = async () => computedOf(body, of)
    const response = await cache.get(request({ key, recipe: key, directives, compute }))
    if (response === undefined) throw new Error('The cache returned nothing.')
    return response
  }
  return { cache, ask }
}

describe('the memory of the cache', () => {
  test('does not hold a result that is too large', async () => {
    const { cache, ask } = openFilled(100_000)
    await ask('small', 'x')
    const { outcome, result } = await ask('large', 'x'.repeat(20_000))
    expect(outcome).toEqual({ kind: 'computed', why: 'miss', joined: false, stored: false })
    expect(result.body).toHaveLength(20_000)
    expect([cache.size, cache.lookup('small')?.outcome.kind]).toEqual([1, 'hit'])
  })

  test('does not hold a result whose successor is too large', async () => {
    const { cache, ask } = openFilled(100_000)
    await ask('key', 'x')
    await ask('key', 'x'.repeat(20_000), { noCache: true })
    expect([cache.size, cache.bytes]).toEqual([0, 0])
  })

  test('is limited, and the least recently used results go first', async () => {
    const { cache, ask } = openFilled(100_000)
    for (let i = 0; i < 1000; i++) {
      await ask(`key ${i}`, 'x'.repeat(1000))
      cache.lookup('key 0')
      cache.lookup(`key ${i - 5}`)
    }
    expect(cache.bytes).toBeLessThanOrEqual(100_000)
    expect(cache.size).toBeGreaterThan(30)
    expect(cache.counters.evicted).toBe(1000 - cache.size)
    for (const used of [0, 995, 999]) expect(cache.lookup(`key ${used}`)?.outcome.kind).toBe('hit')
    expect(cache.lookup('key 900')).toBeUndefined()
  })

  test('counts the recipes of results', async () => {
    const { cache, ask } = openFilled()
    for (let i = 0; i < 2000; i++) await ask(`${'r'.repeat(1000)} ${i}`, '{}')
    expect(cache.bytes).toBeLessThanOrEqual(2 ** 20)
    expect(cache.size).toBeLessThan(250)
  })

  test('holds no buffer that is larger than its result', async () => {
    const { ask } = openFilled()
    const { result } = await ask('key', '', {}, { body: Buffer.alloc(2 ** 20, 'x').subarray(0, 2000) })
    expect(result.body.buffer.byteLength).toBe(2000)
  })

  test.each([
    ['changed endpoint', 'drop', 'group'],
    ['deleted source', 'dropReaders', 'source'],
  ] as const)(
    'forgets the results of a %s, and requests that wait still get theirs',
    async (_, drop, own) => {
      const { cache, call, land, landed, runs, time } = openCache({ policy })
      await landed(call())
      const waiting = call({ noCache: true })
      cache[drop]('other')
      expect(cache.size).toBe(1)
      cache[drop](own)
      expect([cache.size, cache.bytes]).toEqual([0, 0])
      const later = call()
      expect(runs).toHaveLength(2)
      land()
      land()
      expect(await waiting).toBe('request computed 2 not stored')
      expect(await later).toBe('miss 3')
      cache[drop](own)
      time.advance(10_000)
      expect(runs).toHaveLength(0)
    },
  )

  test('starts no waiting run of a changed endpoint whose requests have left', async () => {
    const { cache, call, landed, runs } = openCache()
    const running = call()
    const leaving = new AbortController()
    const waiting = call({ noCache: true }, leaving.signal)
    await settled()
    cache.drop('group')
    leaving.abort(new Error('gone'))
    expect(await waiting).toBe('left')
    expect(await landed(running)).toBe('miss 1 not stored')
    await settled()
    expect(runs).toHaveLength(0)
  })

  test('stops a refresh of a changed endpoint', async () => {
    const { cache, call, landed, runs, time } = openCache({ policy })
    await landed(call())
    time.advance(1000)
    cache.drop('group')
    expect(runs[0]?.signal.aborted).toBe(true)
    await settled()
    expect(cache.size).toBe(0)
  })
})

describe('compressed forms', () => {
  const body = JSON.stringify({ result: Array.from({ length: 500 }, (_, id) => ({ id, path: '/rest/v1' })) })

  async function openResult(text: string | Buffer = body, of: Partial<Result> = {}) {
    const opened = openFilled()
    const ask = async (other = text) => (await opened.ask('key', other, { noCache: true }, of)).result
    return { cache: opened.cache, ask, result: await ask() }
  }

  test('are made on request, and counted', async () => {
    const { cache, result } = await openResult()
    const before = cache.bytes
    expect(result.form('gzip').coding).toBe('identity')
    expect(result.form('br').coding).toBe('identity')
    await cache.stop()
    const [gzip, br] = [result.form('gzip'), result.form('br')]
    expect(gunzipSync(gzip.body).toString()).toBe(body)
    expect(brotliDecompressSync(br.body).toString()).toBe(body)
    expect(new Set(Object.values(result.etags)).size).toBe(3)
    expect(cache.bytes - before).toBe(gzip.body.length + br.body.length)
  })

  test.each([
    ['a small result', 'x'.repeat(1000), 'text/plain'],
    ['a result that does not get smaller', randomBytes(5000), 'text/plain'],
    ['Parquet', body, 'application/vnd.apache.parquet'],
    ['Arrow', body, 'application/vnd.apache.arrow.stream'],
  ])('are not made of %s', async (_, text, contentType) => {
    const { cache, result } = await openResult(text, { contentType })
    const before = cache.bytes
    expect((await result.made('gzip')).coding).toBe('identity')
    expect(result.form('gzip').coding).toBe('identity')
    await cache.stop()
    expect([result.form('gzip').coding, cache.bytes]).toEqual(['identity', before])
  })

  test('are made at once for two requests at a time, and in the background for others', async () => {
    const all = await Promise.all([openResult(), openResult(), openResult()])
    const made = await Promise.all(all.map(({ result }) => result.made('gzip')))
    expect(made.map(({ coding }) => coding)).toEqual(['gzip', 'gzip', 'identity'])
    const { cache, result } = all[2]
    await cache.stop()
    expect((await result.made('gzip')).coding).toBe('gzip')
    expect((await result.made('br')).coding).toBe('br')
  })

  test('are kept if a refresh gives the same bytes, and made again for others', async () => {
    const { cache, result, ask } = await openResult()
    result.form('gzip')
    await cache.stop()
    expect((await ask()).form('gzip')).toBe(result.form('gzip'))
    const other = await ask(`${body} `)
    await cache.stop()
    expect(other.etags.identity).not.toBe(result.etags.identity)
    expect(other.form('gzip').coding).toBe('gzip')
  })
})
