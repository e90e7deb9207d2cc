import { describe, expect, test } from 'vitest'
import { manualClock } from '../base/clock.ts'
import { Access } from './access.ts'
import { createToken, hashToken } from './admin-token.ts'
import { callerWith, scopePattern, withFixedParameters } from './caller.ts'
import { RequestQuota } from './request-quota.ts'
import type { StoredToken } from './token.ts'

const hashOf = (secret: string) => hashToken(secret).toString('hex')

function stored(secret: string, more: Partial<StoredToken> = {}): StoredToken {
  return {
    description: '',
    scopes: ['query'],
    project: null,
    parameters: {},
    expires_at: null,
    requests_per_minute: null,
    hash: hashOf(secret),
    created_at: '2026-01-01T00:00:00.000Z',
    previous: null,
    ...more,
  }
}

describe('access', () => {
  const clock = manualClock()
  const access = new Access('the token of the operator', clock)

  test('accepts any text that the operator chose as the admin token', () => {
    expect(access.admit('the token of the operator').caller).toMatchObject({ id: 'admin', isAdmin: true })
    for (const wrong of [undefined, '', 'the token of the operato', 'the token of the operator ']) {
      expect(() => access.admit(wrong)).toThrow('A valid access token is required')
    }
  })

  test('accepts a token until it expires, is replaced or is removed', () => {
    const [first, second] = [createToken(), createToken()]
    access.put('t', stored(first, { expires_at: new Date(clock.now() + 1000).toISOString() }))
    expect(access.admit(first).caller.id).toBe('t')
    clock.advance(1000)
    expect(() => access.admit(first)).toThrow()
    access.put('t', stored(second))
    expect(access.admit(second).caller.id).toBe('t')
    expect(() => access.admit(first)).toThrow()
    access.remove('t')
    expect(() => access.admit(second)).toThrow()
  })

  test('accepts the previous secret until the overlap ends or the token expires', () => {
    const [old, fresh] = [createToken(), createToken()]
    const at = (ms: number) => new Date(clock.now() + ms).toISOString()
    const previous = { hash: hashOf(old), valid_until: at(5000) }
    access.put('r', stored(fresh, { previous, expires_at: at(3000) }))
    expect(access.admit(old).caller.id).toBe('r')
    clock.advance(3000)
    expect(() => access.admit(old)).toThrow()
  })

  test('tells a mistyped token from an unknown one', () => {
    const token = createToken()
    const typo = `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`
    for (const [text, cause] of [
      [token, undefined],
      ['some other text', undefined],
      [undefined, undefined],
      [typo, 'The token is mistyped or incomplete.'],
      ['wh_', 'The token is mistyped or incomplete.'],
    ] as const) {
      expect(() => access.admit(text)).toThrow(expect.objectContaining({ code: 'unauthorized', cause }))
    }
  })

  test('records the last use', () => {
    const secret = createToken()
    access.put('u', stored(secret))
    expect(access.lastUse('u')).toBeUndefined()
    access.admit(secret)
    expect(access.lastUse('u')).toBe(clock.now())
  })
})

describe('a caller', () => {
  const caller = (scopes: string[], project: string | null = null, parameters = {}) =>
    callerWith({ id: 'x', scopes, project, parameters })

  test('is allowed what its scopes say', () => {
    expect(caller(['admin']).mayQuery('any')).toBe(true)
    expect(caller(['admin']).mayIngest('any')).toBe(true)
    expect(caller(['query']).mayQuery('any')).toBe(true)
    expect(caller(['query']).mayIngest('any')).toBe(false)
    const narrow = caller(['query:logs.all', 'ingest:edge_logs'])
    expect([narrow.mayQuery('logs.all'), narrow.mayQuery('logs'), narrow.mayQuery('')]).toEqual([
      true,
      false,
      false,
    ])
    expect([narrow.mayIngest('edge_logs'), narrow.mayIngest('logs.all')]).toEqual([true, false])
    expect([narrow.mayAny('query'), caller(['query:x']).mayAny('ingest')]).toEqual([true, false])
  })

  test('gets fixed parameters, and is refused other values', () => {
    const tenant = caller(['query'], 'abc', { tier: 'PRO' })
    expect({ ...withFixedParameters(tenant, { other: 'x' }) }).toEqual({
      other: 'x',
      project: 'abc',
      tier: 'PRO',
    })
    expect({ ...withFixedParameters(tenant, { project: 'abc' }) }).toEqual({ project: 'abc', tier: 'PRO' })
    for (const sent of [{ project: 'ABC' }, { project: '' }, { tier: 'FREE' }]) {
      expect(() => withFixedParameters(tenant, sent)).toThrow('This token is limited to')
    }
  })

  test('accepts scopes in one form only', () => {
    for (const scope of ['admin', 'query', 'query:logs.all', 'ingest:edge_logs']) {
      expect(scopePattern.test(scope), scope).toBe(true)
    }
    for (const scope of ['', 'Admin', 'admin:x', 'query:', 'query: x', 'read', 'query:a\n', 'ingest:a:b']) {
      expect(scopePattern.test(scope), scope).toBe(false)
    }
  })
})

describe('the request quota', () => {
  test('covers a minute from the first request, and a clock that is set back locks no one out', () => {
    const quota = new RequestQuota()
    expect(quota.take('a', 2, 0)).toEqual({ limit: 2, remaining: 1, resetSeconds: 60, exceeded: false })
    expect(quota.take('a', 2, 59_001)).toEqual({ limit: 2, remaining: 0, resetSeconds: 1, exceeded: false })
    expect(quota.take('a', 2, 59_999)).toMatchObject({ exceeded: true, remaining: 0, resetSeconds: 1 })
    expect(quota.take('b', 2, 59_999).exceeded).toBe(false)
    expect(quota.take('a', 2, 60_000).exceeded).toBe(false)
    expect(quota.take('a', 1, 60_000)).toMatchObject({ exceeded: true, remaining: 0 })
    expect(quota.take('a', 1, 10).exceeded).toBe(false)
  })
})
