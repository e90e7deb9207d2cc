import type { IncomingMessage } from 'node:http'
import { expect, test, vi } from 'vitest'
import type { ask } from '../../support/callers.ts'

type Headers = Record<string, string>

export interface ResultCaller {
  get: (path: string, headers?: Headers) => ReturnType<typeof ask>
  rawGet: (path: string, headers: Headers) => Promise<IncomingMessage>
  post: (path: string, body: unknown) => ReturnType<typeof ask>
}

export function describeCompressedResults({ get, rawGet, post }: ResultCaller): void {
  test.each(['gzip', 'br'])('a computed result is sent compressed with %s', async (coding) => {
    const query = "SELECT number, repeat('x', 50) AS text FROM numbers(500)"
    for (const [name, cache_seconds] of [
      ['computed', null],
      ['missed', 600],
    ]) {
      await post('/api/endpoints', { name: `${name}.${coding}`, query, cache_seconds })
      await post('/api/endpoints', {
        name: `${name}.short.${coding}`,
        query: 'SELECT 1 AS n',
        cache_seconds,
      })
    }
    const path = (name: string) => `/api/endpoints/query/${name}.${coding}`
    const wanted = { 'Accept-Encoding': coding }
    const computed = await get(path('computed'), wanted)
    expect(computed.headers.get('content-encoding')).toBe(coding)
    expect(computed.headers.get('vary')).toBe('Accept, Accept-Encoding, X-API-KEY, Authorization, Cookie')
    expect(computed.headers.get('etag')).toBeNull()
    const plain = await get(path('computed'), { 'Accept-Encoding': 'identity' })
    expect(plain.headers.get('content-encoding')).toBeNull()
    expect(plain.headers.get('vary')).toBe('Accept, Accept-Encoding, X-API-KEY, Authorization, Cookie')
    expect(computed.body).toEqual(plain.body)
    const missed = await get(path('missed'), wanted)
    expect(missed.headers.get('cache-status')).toMatch(/^Wellhead; fwd=miss; stored/)
    expect(missed.headers.get('content-encoding')).toBe(coding)
    expect(missed.headers.get('etag')).toMatch(new RegExp(`-${coding}"$`))
    expect(missed.body).toEqual(plain.body)
    const hit = await get(path('missed'), wanted)
    expect(hit.headers.get('etag')).toBe(missed.headers.get('etag'))
    const held = { ...wanted, 'If-None-Match': missed.headers.get('etag') ?? '' }
    expect((await rawGet(path('missed'), held)).statusCode).toBe(304)
    for (const name of ['computed.short', 'missed.short'])
      expect((await get(path(name), wanted)).headers.get('content-encoding')).toBeNull()
  })

  test('a cached result is sent compressed once that form is made', async () => {
    await post('/api/endpoints', {
      name: 'cached.large',
      query: "SELECT number, repeat('x', 50) AS text FROM numbers(500)",
      cache_seconds: 600,
    })
    const path = '/api/endpoints/query/cached.large'
    const plain = (await get(path, { 'Accept-Encoding': 'identity' })).body
    await vi.waitFor(async () => {
      const answer = await get(path, { 'Accept-Encoding': 'gzip' })
      expect(answer.headers.get('content-encoding')).toBe('gzip')
      expect(answer.headers.get('etag')).toMatch(/-gzip"$/)
      expect(answer.body).toEqual(plain)
    })
  })
}
