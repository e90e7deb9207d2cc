import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readCacheDirectives } from './request-parameters.ts'
import {
  type CacheReport,
  cacheControl,
  cacheHeaders,
  cacheStatus,
  chooseCoding,
  matchedEtag,
} from './send-result.ts'

const warmed = { cacheSeconds: 900, warmSeconds: 300 }

function report(outcome: CacheReport['outcome'], ttlSeconds = 610): CacheReport {
  return { outcome, ttlSeconds, ageSeconds: 900 - ttlSeconds, policy: warmed }
}

describe('Cache-Status', () => {
  const unavailable = { code: 'engine_unavailable', status: 503 }
  test.each<[CacheReport, string]>([
    [report({ kind: 'hit' }), 'Wellhead; hit; ttl=610'],
    [report({ kind: 'stale' }, -12), 'Wellhead; hit; ttl=-12; detail=stale'],
    [
      report({ kind: 'stale', failure: { ...unavailable, tried: false } }, -12),
      'Wellhead; hit; ttl=-12; detail="stale: engine_unavailable"',
    ],
    [
      report({ kind: 'stale', failure: { ...unavailable, tried: true } }, -12),
      'Wellhead; fwd=stale; fwd-status=503; ttl=-12; detail="stale: engine_unavailable"',
    ],
    [
      report({ kind: 'computed', why: 'miss', joined: false, stored: true }, 899),
      'Wellhead; fwd=miss; stored; ttl=899',
    ],
    [
      report({ kind: 'computed', why: 'request', joined: true, stored: true }, 899),
      'Wellhead; fwd=request; stored; ttl=899; collapsed',
    ],
    [report({ kind: 'computed', why: 'stale', joined: false, stored: false }, 0), 'Wellhead; fwd=stale'],
  ])('of %j', (given, expected) => {
    expect(cacheStatus(given)).toBe(expected)
  })
})

describe('headers of a result', () => {
  test('contain its age, lifetime and tag', () => {
    expect(cacheHeaders(report({ kind: 'hit' }), '"tag-br"')).toEqual({
      'Cache-Status': 'Wellhead; hit; ttl=610',
      'Cache-Control': 'private, max-age=900, stale-while-revalidate=900',
      Age: '290',
      ETag: '"tag-br"',
      Vary: 'Accept, Accept-Encoding, X-API-KEY, Authorization, Cookie',
    })
  })

  test('allow stale results for the last tenth of the lifetime without warming', () => {
    const policy = { cacheSeconds: 60, warmSeconds: null }
    expect(cacheControl({ ...report({ kind: 'hit' }), policy })).toBe(
      'private, max-age=54, stale-while-revalidate=6',
    )
  })

  test('require revalidation of results that are not stored', () => {
    const outcome = { kind: 'computed', why: 'miss', joined: false, stored: false } as const
    expect(cacheControl(report(outcome))).toBe('private, no-cache')
  })
})

describe('Cache-Control of a request', () => {
  test.each([
    [undefined, {}],
    ['', {}],
    ['no-cache', { noCache: true }],
    ['No-Cache , foo', { noCache: true }],
    ['no-store', { noCache: true }],
    ['max-age=30', { maxAgeSeconds: 30 }],
    ['max-age="30"', { maxAgeSeconds: 30 }],
    ['max-age=0', { maxAgeSeconds: 0 }],
    ['max-age=60, max-age=5', { maxAgeSeconds: 5 }],
    ['max-age', {}],
    ['max-age=-1', {}],
    ['max-age=soon', {}],
    ['only-if-cached,max-age=10', { onlyIfCached: true, maxAgeSeconds: 10 }],
    ['x="no-cache, only-if-cached"', {}],
    ['x-no-cache, no-cache-please', {}],
  ])('%s', (header, expected) => {
    expect(readCacheDirectives(header)).toEqual(expected)
  })
})

describe('If-None-Match', () => {
  const etags = ['"a-br"', '"a"', '"a-gzip"']
  test.each([
    [undefined, undefined],
    ['*', '"a-br"'],
    ['"a"', '"a"'],
    ['W/"a-gzip"', '"a-gzip"'],
    ['"x", W/"a" ,"y"', '"a"'],
    ['"b"', undefined],
    ['a', undefined],
    ['"x,"a"', undefined],
    ['"a', undefined],
  ])('%s', (header, expected) => {
    expect(matchedEtag(header, etags)).toBe(expected)
  })
})

describe('Accept-Encoding', () => {
  test.each([
    [undefined, 'identity'],
    ['', 'identity'],
    ['gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['gzip, deflate, br, zstd', 'br'],
    ['GZIP;Q=0.5', 'gzip'],
    ['br;q=0.5, gzip;q=0.8', 'gzip'],
    ['br; q=0, gzip;q=0', 'identity'],
    ['*', 'br'],
    ['*;q=0', 'identity'],
    ['br;q=0, *', 'gzip'],
    ['identity, gzip;q=0.5', 'identity'],
    ['identity;q=0, gzip;q=0.1', 'gzip'],
    ['deflate', 'identity'],
    ['gzip;q=2', 'identity'],
  ])('%s', (header, expected) => {
    expect(chooseCoding(header)).toBe(expected)
  })

  test('chooses a coding quickly for any header', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'gzipbr*;q=0.1, "\\w/-') }), (header) => {
        expect(['identity', 'gzip', 'br']).toContain(chooseCoding(header))
        readCacheDirectives(header)
        matchedEtag(header, ['"a"'])
      }),
    )
  })
})
