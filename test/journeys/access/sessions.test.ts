import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemTime } from '../../../src/core/base/clock.ts'
import { ask, makeToken } from '../../support/callers.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { openEvents } from '../../support/network/event-reader.ts'
import { openService, type RunningService } from '../../support/service.ts'

const clock = manualClock(Date.UTC(2026, 10, 14, 12, 30, 15))
let service: RunningService
beforeAll(async () => {
  service = await openService({
    time: systemTime(clock),
    environment: { WELLHEAD_STATISTICS: 'on' },
  })
  const counted = { name: 'counted', query: 'SELECT count() AS n FROM edge_logs', cache_seconds: 3600 }
  for (const fields of [counted, { ...counted, name: 'other' }]) {
    expect((await admin('POST', '/api/endpoints', { published: true, ...fields })).status).toBe(201)
  }
})
afterAll(() => service?.close())

const admin = (method: string, path: string, body?: unknown) =>
  ask(service, service.adminToken.token, method, path, body)
const createSession = (token: string, id: string, body?: unknown) =>
  ask(service, token, 'POST', `/api/access-tokens/${id}/session`, body)
const sessionOf = async (token: string, body?: unknown): Promise<string> => {
  const made = await createSession(token, 'self', body)
  expect([made.status, made.body.error]).toEqual([201, undefined])
  return made.body.token
}
const call = async (token: string, path = 'counted') =>
  (await ask(service, token, 'GET', `/api/endpoints/query/${path}`)).status

describe('a session', () => {
  test('is made by a token for itself, with a project of its own, and ends by itself', async () => {
    const backend = await makeToken(service, { scopes: ['query', 'ingest'] })
    const made = await createSession(backend.token, 'self', {
      minutes: 5,
      scopes: ['query:counted'],
      project: 'Grün 🚰',
      parameters: { tier: 'PRO' },
    })
    expect(made.status).toBe(201)
    expect(made.headers.get('cache-control')).toBe('no-store')
    const { token, ...rest } = made.body
    expect(token).toMatch(/^whs_/)
    expect(rest).toEqual({
      token_id: backend.id,
      expires_at: new Date(clock.now() + 300_000).toISOString(),
      scopes: ['query:counted'],
      project: 'Grün 🚰',
      parameters: { tier: 'PRO' },
    })
    const { body } = await ask(service, token, 'GET', '/api/whoami')
    expect(body).toMatchObject({ id: backend.id, session: true, admin: false, ingest: false })
    expect(body).toMatchObject({ project: 'Grün 🚰', parameters: { tier: 'PRO', project: 'Grün 🚰' } })
    expect(body.endpoints.map(({ name }: { name: string }) => name)).toEqual(['counted'])
    expect([await call(token), await call(token, 'other'), await call(token, 'counted?project=b')]).toEqual([
      200, 403, 403,
    ])
    const listed = await admin('GET', '/api/access-tokens')
    expect(JSON.stringify(listed.body)).not.toContain('whs_')
    clock.advance(300_000)
    expect(await call(token)).toBe(401)
    expect(await call(backend.token)).toBe(200)
  })

  test('sees only entries of its project, also in the fast path of repeated requests', async () => {
    const backend = await makeToken(service, { scopes: ['query', 'ingest'] })
    const entries = ['red', 'red', 'green'].map((project) => ({ project, event_message: 'x' }))
    expect((await ask(service, backend.token, 'POST', '/api/logs?source=edge_logs', entries)).status).toBe(
      200,
    )
    const [red, green] = [
      await sessionOf(backend.token, { project: 'red' }),
      await sessionOf(backend.token, { project: 'green' }),
    ]
    const count = async (token: string) =>
      (await ask(service, token, 'GET', '/api/endpoints/query/counted')).body.result[0].n
    for (let i = 0; i < 3; i++) expect([await count(red), await count(green)]).toEqual([2, 1])
    const another = await sessionOf(backend.token, { project: 'red' })
    expect(await count(another)).toBe(2)
  })

  test('with a fixed parameter reads no entries, since only the SQL of endpoints enforces it', async () => {
    const backend = await makeToken(service, {
      scopes: ['query', 'search'],
      description: 'for all customers',
    })
    const free = await sessionOf(backend.token, { project: 'red' })
    const limited = await sessionOf(backend.token, { project: 'red', parameters: { user: '7' } })
    const source = '/api/sources/edge_logs'
    const statuses = async (token: string) =>
      Promise.all([
        ...['search', 'histogram', 'facets'].map((route) =>
          ask(service, token, 'POST', `${source}/${route}`, {}),
        ),
        ask(service, token, 'POST', `${source}/values`, { path: 'id' }),
        ask(service, token, 'GET', `${source}/entries/nobody`),
        ask(service, token, 'HEAD', `${source}/tail`),
      ]).then((responses) => responses.map(({ status }) => status))
    expect(await statuses(free)).toEqual([200, 200, 200, 200, 404, 200])
    expect(await statuses(limited)).toEqual([403, 403, 403, 403, 403, 403])
    const searching = await sessionOf(backend.token, { scopes: ['search'], project: 'red' })
    expect(await statuses(searching)).toEqual([200, 200, 200, 200, 404, 200])
    expect(await call(searching)).toBe(403)
    const querying = await sessionOf(backend.token, { scopes: ['query'], project: 'red' })
    expect(await statuses(querying)).toEqual([403, 403, 403, 403, 403, 403])
    const whoami = async (token: string) => (await ask(service, token, 'GET', '/api/whoami')).body
    expect(await whoami(free)).toMatchObject({ logs: true, description: '' })
    expect(await whoami(limited)).toMatchObject({ logs: false, sources: [] })
    expect(await whoami(backend.token)).toMatchObject({ description: 'for all customers' })
  })

  test('gets no entry or result in an open stream after it has expired', async () => {
    const { token } = await makeToken(service, { scopes: ['search', 'ingest'], project: 'late' })
    const session = await sessionOf(token, { minutes: 1 })
    const stream = await openEvents(`${service.url}/api/sources/edge_logs/tail?query=late`, session)
    const send = (event_message: string) =>
      ask(service, token, 'POST', '/api/logs?source=edge_logs', [{ event_message }])
    await send('late 1')
    expect((await stream.next())?.data).toContain('late 1')
    clock.advance(60_000)
    await send('late 2')
    expect(await stream.next()).toBeUndefined()
  })

  test('ends with its token: revoked, rotated without overlap, expired or narrowed', async () => {
    const make = async () => {
      const token = await makeToken(service, { scopes: ['query'] })
      const session = await sessionOf(token.token, { project: 'blue' })
      const url = `${service.url}/api/endpoints/query/counted`
      // Twice, so that the fast path knows it.
      expect([await call(session), await call(session)]).toEqual([200, 200])
      const stream = await openEvents(url, session)
      expect((await stream.next())?.event).toBe('result')
      return { ...token, session, stream }
    }
    const path = '/api/access-tokens'
    for (const end of [
      (id: string) => admin('DELETE', `${path}/${id}`),
      (id: string) => admin('POST', `${path}/${id}/rotate`, { overlap_seconds: 0 }),
      (id: string) => admin('PATCH', `${path}/${id}`, { project: 'red' }),
      (id: string) => admin('PATCH', `${path}/${id}`, { scopes: ['ingest'] }),
    ]) {
      const { id, session, stream } = await make()
      expect((await end(id)).status).toBeLessThan(300)
      expect(await stream.next()).toBeUndefined()
      expect(await call(session)).toBe(401)
    }
    const { id, session } = await make()
    await admin('PATCH', `${path}/${id}`, { scopes: ['query:other'] })
    expect([await call(session), await call(session, 'other')]).toEqual([403, 200])
    await admin('POST', `${path}/${id}/rotate`, { overlap_seconds: 60 })
    expect(await call(session, 'other')).toBe(200)
    clock.advance(60_000)
    expect(await call(session, 'other')).toBe(401)
    const expires_at = new Date(clock.now() + 60_000).toISOString()
    const short = await makeToken(service, { scopes: ['query'], expires_at })
    expect((await createSession(short.token, 'self')).body.expires_at).toBe(expires_at)
  })

  test.each([
    [{ scopes: ['query', 'ingest'] }, 'scopes'],
    [{ scopes: ['admin'] }, 'scopes'],
    [{ scopes: ['search'] }, 'scopes'],
    [{ scopes: [] }, 'scopes'],
    [{ project: 'red' }, 'project'],
    [{ project: '' }, 'project'],
    [{ project: 'a\ud800' }, 'project'],
    [{ parameters: { tier: 'PRO' } }, 'parameters.tier'],
    [{ parameters: { project: 'red' } }, 'parameters'],
    [{ requests_per_minute: 61 }, 'requests_per_minute'],
    [{ minutes: 0 }, 'minutes'],
    [{ minutes: 721 }, 'minutes'],
    [{ minutes: 1.5 }, 'minutes'],
    [{ expires_at: null }, 'expires_at'],
  ])('is refused with %j', async (body, parameter) => {
    const { token } = await makeToken(service, {
      ...{ scopes: ['query'], project: 'blue', parameters: { tier: 'FREE' }, requests_per_minute: 60 },
    })
    expect(await createSession(token, 'self', body)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_parameter', parameter } },
    })
  })

  test('of another token requires an admin, and no session makes or manages anything', async () => {
    const [one, other] = [
      await makeToken(service, { scopes: ['query'] }),
      await makeToken(service, { scopes: ['query'], project: 'blue' }),
    ]
    const nobody = '00000000-0000-4000-8000-000000000000'
    const refusals = [other.id, nobody, 'admin', 'x'].map((id) => createSession(one.token, id))
    const messages = (await Promise.all(refusals)).map(({ status, body }) => [status, body.error.message])
    expect(new Set(messages.map(String)).size).toBe(1)
    expect(messages[0]?.[0]).toBe(403)
    expect((await createSession(one.token, one.id.toUpperCase())).body.token_id).toBe(one.id)
    const made = await createSession(service.adminToken.token, other.id)
    expect(made.body).toMatchObject({ token_id: other.id, project: 'blue' })
    expect((await createSession(service.adminToken.token, nobody)).status).toBe(404)
    for (const id of ['self', other.id]) {
      expect((await createSession(made.body.token, id)).status).toBe(403)
    }
    expect((await ask(service, made.body.token, 'GET', '/api/access-tokens')).status).toBe(403)
    const adminSession = await sessionOf(service.adminToken.token)
    expect((await ask(service, adminSession, 'GET', '/api/access-tokens')).status).toBe(200)
    expect((await createSession(adminSession, 'self')).status).toBe(403)
    const limited = await sessionOf(service.adminToken.token, { scopes: ['query'], project: 'blue' })
    expect((await ask(service, limited, 'GET', '/api/access-tokens')).status).toBe(403)
    expect([await call(limited), await call(limited, 'wellhead.top-callers')]).toEqual([200, 404])
    expect(await createSession(service.adminToken.token, 'self', { project: 'blue' })).toMatchObject({
      status: 400,
      body: { error: { parameter: 'scopes' } },
    })
  })

  test('counts for its token: limit of requests, statistics and last use', async () => {
    const { id, token } = await makeToken(service, { scopes: ['query'], requests_per_minute: 5 })
    const session = await sessionOf(token, { project: 'gray', requests_per_minute: 2 })
    expect([await call(session), await call(session), await call(session)]).toEqual([200, 200, 429])
    // The session itself was the first request.
    expect([await call(token), await call(token), await call(token)]).toEqual([200, 200, 429])
    expect((await admin('GET', `/api/access-tokens/${id}`)).body).toMatchObject({
      last_used_at: new Date(clock.now()).toISOString(),
      created_by: 'admin',
    })
    await service.statistics?.flush()
    const { body } = await admin('GET', '/api/sources/endpoint_requests/recent?limit=1000')
    const own = body.filter(({ metadata }: { metadata: { token_id: string } }) => metadata.token_id === id)
    const counts = own.map(({ project, metadata }: { project: string; metadata: Record<string, unknown> }) =>
      Array(metadata.calls).fill(`${project} ${metadata.status}`),
    )
    expect(counts.flat().sort()).toEqual([
      ...[' 200', ' 200', ' 429'],
      ...['gray 200', 'gray 200', 'gray 429'],
    ])
    expect(JSON.stringify(body)).not.toContain('whs_')
  })

  test('cannot be forged, and attempts are limited as for other tokens', async () => {
    const { token } = await makeToken(service, { scopes: ['query'], project: 'blue' })
    const session = await sessionOf(token)
    const [head, content = '', signature] = session.split('.')
    const rights = JSON.parse(Buffer.from(content, 'base64url').toString())
    const wider = Buffer.from(JSON.stringify({ ...rights, scopes: ['admin'], project: null }))
    for (const forged of [
      `${head}.${wider.toString('base64url')}.${signature}`,
      `whs_admin.${content}.${signature}`,
      session.slice(0, -1),
      `${session}A`,
      `${head}.${content}.`,
      'whs_',
      `whs_${'x'.repeat(8000)}`,
    ]) {
      expect(await call(forged)).toBe(401)
    }
    const remoteAddress = '203.0.113.9'
    const attempt = async (key: string) =>
      (await service.http.inject({ url: '/api/whoami', headers: { 'x-api-key': key }, remoteAddress }))
        .statusCode
    const statuses: number[] = []
    for (let i = 0; i < 61; i++) statuses.push(await attempt(`${session.slice(0, -2)}${i % 10}-`))
    expect(new Set(statuses.slice(0, 60))).toEqual(new Set([401]))
    expect([statuses[60], await attempt(session)]).toEqual([429, 200])
  })
})

describe('a cookie', () => {
  const origin = () => ({ Origin: service.url })
  const signIn = async (token: string, headers: Record<string, string> = origin()) => {
    const answer = await ask(service, token, 'POST', '/auth/token', undefined, headers)
    return { status: answer.status, set: answer.headers.get('set-cookie') ?? '' }
  }
  const cookieOf = async (token: string) => (await signIn(token)).set.split(';')[0] as string
  const send = (Cookie: string, method = 'GET', path = '/api/whoami', more = {}) =>
    ask(service, undefined, method, path, undefined, { Cookie, ...more })

  test('has the rights of its token, and ends with it', async () => {
    const { id, token } = await makeToken(service, { scopes: ['query:counted'], project: 'demo' })
    const { status, set } = await signIn(token)
    expect(status).toBe(204)
    expect(set).toMatch(/^wellhead=whs_[\w.-]+; Expires=[^;]+GMT; Path=\/; HttpOnly; SameSite=Lax$/)
    const [cookie = ''] = set.split(';')
    const { body } = await send(`theme=dark; ${cookie}; x`)
    expect(body).toMatchObject({ id, session: false, query: true, project: 'demo', role: null })
    const answers = [await send(cookie, 'GET', '/api/endpoints/query/counted')]
    answers.push(await send(cookie, 'GET', '/api/endpoints/query/counted'))
    expect(answers.map(({ headers }) => headers.get('cache-status'))).toEqual([
      expect.stringContaining('fwd=miss'),
      expect.stringContaining('hit'),
    ])
    expect((await send(cookie, 'GET', '/api/endpoints/query/other')).status).toBe(403)
    // A token in a header goes before it.
    expect((await ask(service, 'wh_wrong', 'GET', '/api/whoami', undefined, { Cookie: cookie })).status).toBe(
      401,
    )
    await admin('DELETE', `/api/access-tokens/${id}`)
    const over = await send(cookie)
    expect([over.status, over.headers.get('set-cookie')]).toEqual([
      401,
      expect.stringContaining('wellhead=; Max-Age=0'),
    ])
    expect((await send(cookie, 'GET', '/openapi.json')).status).toBe(200)
  })

  test('is renewed while it is used, and ends after twice its length', async () => {
    let cookie = await cookieOf(service.adminToken.token)
    const hour = 3_600_000
    clock.advance(11 * hour)
    const renewed = (await send(cookie)).headers.get('set-cookie')
    expect((await send(cookie)).status).toBe(200)
    cookie = renewed?.split(';')[0] as string
    clock.advance(11 * hour)
    expect((await send(cookie)).status).toBe(200)
    clock.advance(2 * hour)
    expect((await send(cookie)).status).toBe(401)
  })

  test('that signs out no longer works, nor do renewed ones', async () => {
    const cookie = await cookieOf(service.adminToken.token)
    clock.advance(3_600_000 * 2)
    const renewed = (await send(cookie)).headers.get('set-cookie')?.split(';')[0] as string
    expect([(await send(cookie)).status, (await send(renewed)).status]).toEqual([200, 200])
    expect((await send(cookie, 'POST', '/auth/logout')).body.error.code).toBe('cross_site')
    const out = await send(cookie, 'POST', '/auth/logout', origin())
    expect([out.status, out.headers.get('set-cookie')]).toEqual([
      204,
      expect.stringMatching(/^wellhead=; Max-Age=0/),
    ])
    expect([(await send(cookie)).status, (await send(renewed)).status]).toEqual([401, 401])
    expect((await send(cookie, 'POST', '/auth/logout', origin())).status).toBe(204)
  })

  test('of a session ends with the session, and creates none', async () => {
    const session = await sessionOf(service.adminToken.token, { minutes: 5, scopes: ['query'] })
    const cookie = await cookieOf(session)
    expect(cookie).toBe(`wellhead=${session}`)
    const refused = await send(cookie, 'POST', '/api/access-tokens/self/session', origin())
    expect([refused.status, refused.body.error.code]).toEqual([403, 'forbidden'])
    const own = await cookieOf(service.adminToken.token)
    expect((await send(own, 'POST', '/api/access-tokens/self/session', origin())).status).toBe(201)
    clock.advance(300_000)
    expect((await send(cookie)).status).toBe(401)
  })

  test('is secure behind a proxy that ends TLS, and only a page of this service can get one', async () => {
    const https = service.url.replace('http:', 'https:')
    const { set } = await signIn(service.adminToken.token, { Origin: https })
    expect(set).toMatch(/^__Host-wellhead=whs_.*; Secure$/)
    const cookie = set.split(';')[0] as string
    // Over HTTPS, browsers always say where a request comes from.
    expect((await send(cookie)).body.error.code).toBe('cross_site')
    expect((await send(cookie, 'GET', '/api/whoami', { 'Sec-Fetch-Site': 'same-origin' })).status).toBe(200)
    const other = { Origin: 'https://other.example.com', 'X-API-KEY': service.adminToken.token }
    const refused = await send('', 'POST', '/auth/token', other)
    expect([refused.status, refused.body.error]).toMatchObject([
      403,
      {
        code: 'cross_site',
        message: expect.stringMatching(/origin https:\/\/other\.example\.com\..* set WELLHEAD_PUBLIC_URL /),
      },
    ])
    expect((await signIn(service.adminToken.token, {})).status).toBe(204)
    expect((await signIn('wh_wrong')).status).toBe(401)
  })

  test('works only for pages of this service and for addresses that somebody types', async () => {
    const cookie = await cookieOf(service.adminToken.token)
    const statusOf = async (path: string, site: string, method = 'GET') =>
      (await send(cookie, method, path, { 'Sec-Fetch-Site': site })).status
    const paths = ['/api/backup?_format=none', '/api/endpoints/query/counted', '/api/whoami']
    for (const path of paths) {
      // Twice, so that the fast path knows it.
      const own = [await statusOf(path, 'same-origin'), await statusOf(path, 'none')]
      expect([path, own]).toEqual([path, path.includes('backup') ? [406, 406] : [200, 200]])
      for (const site of ['cross-site', 'same-site', '']) {
        expect([path, site, await statusOf(path, site)]).toEqual([path, site, 403])
      }
      expect([path, await statusOf(path, 'cross-site', 'HEAD')]).toEqual([path, 403])
    }
    // Over plain HTTP, browsers may not say it. Nothing in the console takes a backup.
    const silent = await Promise.all(paths.map(async (path) => (await send(cookie, 'GET', path)).status))
    expect(silent).toEqual([403, 200, 200])
    // A link of another site opens it as for everybody.
    expect(await statusOf('/openapi.json', 'cross-site')).toBe(200)
    // Other sites do not have a token.
    const { token } = service.adminToken
    const more = { 'Sec-Fetch-Site': 'cross-site' }
    expect((await ask(service, token, 'GET', '/api/whoami', undefined, more)).status).toBe(200)
  })

  test('is given 60 times a minute to a token and to an address', async () => {
    const [one, other] = [
      await makeToken(service, { scopes: ['query'] }),
      await makeToken(service, { scopes: ['query'] }),
    ]
    const from = async (token: string, remoteAddress: string) => {
      const headers = { 'x-api-key': token }
      const { statusCode } = await service.http.inject({
        ...{ method: 'POST', url: '/auth/token', headers, remoteAddress },
      })
      return statusCode
    }
    const [here, there] = ['203.0.113.20', '203.0.113.21']
    const statuses = await Promise.all(Array.from({ length: 64 }, () => from(one.token, here)))
    expect(statuses.sort()).toEqual([...Array(60).fill(204), ...Array(4).fill(429)])
    expect([await from(one.token, there), await from(other.token, here)]).toEqual([429, 429])
    expect(await from(other.token, there)).toBe(204)
    // Requests are not limited by it.
    expect(await call(one.token)).toBe(200)
    clock.advance(60_000)
    expect(await from(one.token, here)).toBe(204)
  })

  test('that is not one of ours is ignored: a token, a foreign signature, 8 KB', async () => {
    const cookie = await cookieOf(service.adminToken.token)
    const foreign = `${cookie.slice(0, -2)}${cookie.endsWith('AA') ? 'BB' : 'AA'}`
    const values = [
      `wellhead=${service.adminToken.token}`,
      foreign,
      'wellhead=',
      'wellhead',
      `wellhead=whs_${'x'.repeat(8192)}`,
    ]
    for (const value of values)
      expect([value.length, (await send(value)).status]).toEqual([value.length, 401])
    expect((await send(`other=${'x'.repeat(8192)}; ${cookie}`)).status).toBe(200)
    expect((await send(`${cookie}; ${foreign}`)).status).toBe(200)
  })
})

describe('a link', () => {
  const path = '/api/dashboards/shared/links'
  const share = async (body = {}) => {
    const made = await admin('POST', path, { all_projects: true, ...body })
    const open = () => fetch(`${made.body.url}/session`, { method: 'POST' })
    return { ...made, open }
  }
  const inDays = (days: number) => new Date(clock.now() + days * 86_400_000).toISOString()

  test('has sessions that cannot sign in', async () => {
    expect((await admin('POST', '/api/dashboards', { name: 'shared' })).status).toBe(201)
    const { open } = await share()
    const { token } = (await (await open()).json()) as { token: string }
    expect(await ask(service, token, 'POST', '/auth/token')).toMatchObject({
      status: 403,
      body: { error: { code: 'forbidden', message: expect.stringContaining('session of a link') } },
    })
    expect((await ask(service, token, 'GET', '/api/dashboards')).status).toBe(200)
  })

  test('works for 90 days at most', async () => {
    const { open, body } = await share()
    const listed = async (id: string) =>
      (await admin('GET', path)).body.find((link: { id: string }) => link.id === id).expires_at
    expect(await listed(body.id)).toBe(inDays(90))
    const short = await share({ expires_at: inDays(10) })
    expect(await listed(short.body.id)).toBe(inDays(10))
    const long = await share({ expires_at: inDays(91) })
    expect([long.status, long.body.error.parameter, long.body.error.message]).toEqual([
      400,
      'expires_at',
      expect.stringContaining('at most 90 days'),
    ])
    clock.advance(90 * 86_400_000 - 1)
    expect((await open()).status).toBe(201)
    clock.advance(1)
    expect((await open()).status).toBe(404)
  })
})
