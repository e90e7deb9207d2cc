import { describe, expect, test } from 'vitest'
import { manualClock } from '../../../test/support/manual-clock.ts'
import { scopePattern } from '../../shared/scopes.ts'
import { Access } from './access.ts'
import { createToken, hashToken } from './admin-token.ts'
import { type Caller, callerWith, withFixedParameters } from './caller.ts'
import type { NewSession } from './sessions.ts'
import type { SessionFields, StoredToken } from './token.ts'

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
    created_by: null,
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

describe('a session', () => {
  const open = () => {
    const clock = manualClock()
    const access = new Access('the token of the operator', clock)
    const secret = createToken()
    access.put('t', stored(secret))
    const create = (fields: Partial<SessionFields> = {}, by?: string) =>
      access.createSession('t', { minutes: 15, ...fields }, by) as NewSession
    return { clock, access, secret, create }
  }
  const isOver = (access: Access, token: string) => {
    expect(() => access.admit(token)).toThrow(expect.objectContaining({ code: 'unauthorized' }))
    expect(access.recognize(token)).toBeUndefined()
  }

  test('acts for its token until it expires', () => {
    const { clock, access, create } = open()
    const { token, expires_at } = create({ scopes: ['query:a'], project: 'demo' })
    expect(expires_at).toBe(new Date(clock.now() + 900_000).toISOString())
    const { caller } = access.admit(token)
    expect(caller).toMatchObject({ id: 't', isSession: true, isAdmin: false, project: 'demo' })
    expect([caller.mayQuery('a'), caller.mayQuery('b')]).toEqual([true, false])
    expect(access.recognize(token)?.caller.tag).toBe(caller.tag)
    expect(access.lastUse('t')).toBe(clock.now())
    const isValid = access.watch(token, caller)
    clock.advance(899_999)
    expect(isValid()).toBe(true)
    clock.advance(1)
    expect(isValid()).toBe(false)
    isOver(access, token)
  })

  test('of a cookie ends with it, in open streams, too', () => {
    const { access } = open()
    const { text } = access.createCookie('the token of the operator', 60_000) ?? { text: '' }
    const session = access.createSession('admin', { minutes: 5 }, text)?.token ?? ''
    const streams = [text, session].map((token) => access.watch(token, access.admit(token).caller))
    expect(streams.map((isValid) => isValid())).toEqual([true, true])
    access.endCookies('admin', [access.cookieIn(text)?.id ?? ''])
    expect(streams.map((isValid) => isValid())).toEqual([false, false])
    for (const token of [text, session]) isOver(access, token)
  })

  test('of a cookie stays ended, however often others sign out', () => {
    const { access, secret } = open()
    const signIn = (token: string) => access.createCookie(token, 60_000)?.text ?? ''
    const signOut = (text: string) => {
      const { owner, id } = access.cookieIn(text) as { owner: string; id: string }
      access.endCookies(owner, [id])
    }
    const cookie = signIn('the token of the operator')
    signOut(cookie)
    access.endCookies(
      't',
      Array.from({ length: 20_000 }, (_, n) => `cookie-${n}`),
    )
    const other = signIn(secret)
    signOut(other)
    for (const text of [cookie, other]) isOver(access, text)
  })

  test('is not prolonged by a clock that is set back', () => {
    const { clock, access, create } = open()
    const { token } = create({ minutes: 720 })
    const { caller } = access.recognize(token) as { caller: Caller }
    const isValid = access.watch(token, caller)
    clock.advance(-1)
    isOver(access, token)
    expect(isValid()).toBe(false)
    const short = create({ minutes: 1 }).token
    clock.advance(-3_600_000)
    expect(access.admit(short).caller.id).toBe('t')
  })

  test('ends when its token is revoked, expires or gets a new secret', () => {
    const { clock, access, secret, create } = open()
    const at = (ms: number) => new Date(clock.now() + ms).toISOString()
    const first = create()
    const isValid = access.watch(first.token, access.admit(first.token).caller)
    const previous = { hash: hashOf(secret), valid_until: at(60_000) }
    access.put('t', stored(createToken(), { previous }))
    // Streams end with every change of the token.
    expect(isValid()).toBe(false)
    expect(access.admit(first.token).caller.id).toBe('t')
    // The old secret cannot get more time by way of a session.
    expect(create({}, secret).expires_at).toBe(at(60_000))
    expect(create().expires_at).toBe(at(900_000))
    clock.advance(60_000)
    isOver(access, first.token)
    access.put('t', stored(secret, { expires_at: at(1000) }))
    expect(create().expires_at).toBe(at(1000))
    const { token } = create()
    access.recognize(token)
    access.remove('t')
    isOver(access, token)
    expect(create()).toBeUndefined()
  })

  test('changes with its token', () => {
    const { access, secret, create } = open()
    const { token } = create({ project: 'demo' })
    const { caller } = access.admit(token)
    access.put('t', stored(secret, { scopes: ['query:a'] }))
    const narrower = access.recognize(token)?.caller as Caller
    expect([narrower.tag === caller.tag, narrower.mayQuery('a'), narrower.mayQuery('b')]).toEqual([
      false,
      true,
      false,
    ])
    access.put('t', stored(secret, { project: 'other' }))
    isOver(access, token)
  })

  test('shares its tag with sessions of the same rights only', () => {
    const { access, create } = open()
    const tag = (fields = {}) => access.admit(create(fields).token).caller.tag
    expect(tag({ project: 'a' })).toBe(tag({ project: 'a', minutes: 1 }))
    const tags = [tag(), tag({ project: 'a' }), tag({ project: 'b' }), tag({ parameters: { project_: 'a' } })]
    expect(new Set(tags).size).toBe(4)
  })

  test('counts for its token, and has a limit of its own', () => {
    const { access, secret, create } = open()
    access.put('t', stored(secret, { requests_per_minute: 4 }))
    expect(() => create({ requests_per_minute: 5 })).toThrow('4 requests per minute')
    const [one, other] = [create({ requests_per_minute: 2 }).token, create().token]
    const left = (token: string) => {
      const { quota } = access.admit(token)
      return quota?.exceeded ? 'exceeded' : quota?.remaining
    }
    expect([left(one), left(one), left(one), left(one)]).toEqual([1, 0, 'exceeded', 'exceeded'])
    expect([left(other), left(secret), left(other), left(one)]).toEqual([1, 0, 'exceeded', 'exceeded'])
  })

  test('of many does not stay in memory, and does not end others', () => {
    const { access, secret, create } = open()
    const first = create().token
    const isValid = access.watch(first, access.admit(first).caller)
    for (let i = 0; i < 1100; i++) expect(access.recognize(create().token)?.caller.id).toBe('t')
    expect(isValid()).toBe(true)
    expect(access.recognize(first)?.caller.id).toBe('t')
    expect(access.recognize(secret)?.caller.isSession).toBe(false)
  })

  test('of the admin token is an admin, and no other text is', () => {
    const { access } = open()
    const { token } = access.createSession('admin', { minutes: 1 }) as NewSession
    expect(access.admit(token).caller).toMatchObject({ id: 'admin', isAdmin: true, isSession: true })
    for (const wrong of ['whs_admin.e30.', `whs_admin.e30.${'A'.repeat(43)}`, 'whs_', token.slice(0, -1)]) {
      isOver(access, wrong)
    }
  })

  test('must fit into a header', () => {
    const { access, secret } = open()
    const scopes = Array.from({ length: 100 }, (_, i) => `query:${'x'.repeat(100)}${i}`)
    access.put('t', stored(secret, { scopes }))
    expect(() => access.createSession('t', { minutes: 1 })).toThrow('do not fit into a session')
    expect(access.createSession('t', { minutes: 1, scopes: scopes.slice(0, 3) })).toBeDefined()
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

  test('with a project can only call published endpoints', () => {
    const [published, unpublished] = [true, false].map((published) => ({ name: 'a', published })) as never[]
    const may = (...args: Parameters<typeof caller>) =>
      [published, unpublished].map((endpoint) => caller(...args).mayCall(endpoint as never))
    expect(may(['query'])).toEqual([true, true])
    expect(may(['admin'])).toEqual([true, true])
    expect(may(['query'], 'abc')).toEqual([true, false])
    expect(may(['query:a'], 'abc')).toEqual([true, false])
    expect(may(['query:b'])).toEqual([false, false])
  })

  test('has the rights of its role', () => {
    const rights = (scope: string) => {
      const { role, isAdmin, mayReadEntries, mayAny, mayQuery } = caller([scope])
      return [role, isAdmin, mayReadEntries, mayQuery(''), mayAny('ingest')]
    }
    expect(rights('read')).toEqual(['viewer', false, true, true, false])
    expect(rights('edit')).toEqual(['editor', false, true, true, false])
    expect(rights('admin')).toEqual(['admin', true, true, true, true])
    expect(rights('search')).toEqual([undefined, false, true, false, false])
    expect(rights('search:a')).toEqual([undefined, false, true, false, false])
  })

  test('reads entries of the sources in its scopes, with a project of published ones', () => {
    const sources = ['a', 'b', 'audit_events'].flatMap((name) =>
      [true, false].map((published) => ({ name, published })),
    )
    const may = (...args: Parameters<typeof caller>) =>
      sources.flatMap((source) =>
        caller(...args).mayReadSource(source) ? `${source.name} ${source.published}` : [],
      )
    const all = ['a true', 'a false', 'b true', 'b false']
    for (const scope of ['search', 'read', 'edit', 'deploy']) expect(may([scope])).toEqual(all)
    expect(may(['admin'])).toEqual([...all, 'audit_events true', 'audit_events false'])
    expect(may(['search'], 'abc')).toEqual(['a true', 'b true'])
    expect(may(['search:a'])).toEqual(['a true', 'a false'])
    expect(may(['search:a', 'query', 'ingest:b'], 'abc')).toEqual(['a true'])
    expect(may(['search:audit_events'])).toEqual([])
    for (const scope of ['query', 'ingest', 'query:a', 'ingest:a', 'dashboard:a'])
      expect(may([scope])).toEqual([])
    expect(may(['search'], null, { tier: 'PRO' })).toEqual([])
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
    for (const scope of ['admin', 'edit', 'read', 'query', 'query:logs.all', 'ingest:edge_logs']) {
      expect(scopePattern.test(scope), scope).toBe(true)
    }
    for (const scope of [
      '',
      'Admin',
      'admin:x',
      'query:',
      'query: x',
      'read:x',
      'edit:',
      'query:a\n',
      'ingest:a:b',
    ]) {
      expect(scopePattern.test(scope), scope).toBe(false)
    }
  })
})
