import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { systemTime } from '../../../src/base/clock.ts'
import { checkUnused } from '../../../src/engine/embedded-engine.ts'
import { ask, makeToken } from '../../support/callers.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { freePort } from '../../support/network/free-port.ts'
import { CookieJar, clientId, clientSecret, type Issuer, openIssuer } from '../../support/network/issuer.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { childrenOf, spawnService } from '../../support/service-process.ts'

/** The issuer has the time of the machine. */
const clock = manualClock(Date.now())
let service: RunningService
let issuer: Issuer
beforeAll(async () => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  issuer = await openIssuer(`${url}/auth/callback`)
  service = await openService({
    time: systemTime(clock),
    environment: {
      WELLHEAD_PORT: String(port),
      WELLHEAD_PUBLIC_URL: url,
      WELLHEAD_OIDC_ISSUER: issuer.url,
      WELLHEAD_OIDC_CLIENT_ID: clientId,
      WELLHEAD_OIDC_CLIENT_SECRET: clientSecret,
      WELLHEAD_OIDC_ROLES: 'admin=ops,editor=dev|data,viewer=staff',
      WELLHEAD_OIDC_PROJECT_CLAIM: 'project',
    },
  })
})
afterAll(async () => {
  await service?.close()
  await issuer?.close()
})

const who = (fields: Record<string, unknown>, account = 'ada') => {
  issuer.account = account
  issuer.claims[account] = { name: 'Ada Lovelace', email: 'ada@example.com', ...fields }
}

const login = (jar: CookieJar, returnTo = '/console/logs') =>
  jar.follow(`${service.url}/auth/login?return_to=${encodeURIComponent(returnTo)}`, `${service.url}/console`)

const send = (jar: CookieJar, method: string, path: string, body?: unknown) =>
  ask(service, undefined, method, path, body, { Cookie: jar.header(service.url), Origin: service.url })

const whoami = async (jar: CookieJar) => {
  const { status, body } = await send(jar, 'GET', '/api/whoami')
  const { type, name, email, role, project } = body
  return status === 200 ? { type, name, email, role, project } : status
}

/** The address that the issuer sends the browser back to, before the browser goes there. */
const comeBack = async (jar: CookieJar) =>
  (await jar.follow(`${service.url}/auth/login`, `${service.url}/auth/callback`)).address

const pageOf = async (response: Response) => [
  response.status,
  /<p>(.*?)<\/p>/.exec(await response.text())?.[1],
]

const codeOf = async (response: Response) => /<code>(\w+)<\/code>/.exec(await response.text())?.[1]

describe('signing in', () => {
  test.each([
    [['ops'], 'admin'],
    [['dev', 'staff'], 'editor'],
    [['nobody', 'data'], 'editor'],
    ['staff', 'viewer'],
    [[...Array.from({ length: 10_000 }, (_, n) => `group-${n}`), 'staff'], 'viewer'],
    [[1, null, ['ops'], { ops: true }, 'staff'], 'viewer'],
  ])('gives the first role of the groups', async (groups, role) => {
    who({ groups })
    const jar = new CookieJar()
    const { address } = await login(jar)
    expect(address).toBe(`${service.url}/console/logs`)
    const person = { type: 'person', name: 'Ada Lovelace', email: 'ada@example.com', project: null }
    expect(await whoami(jar)).toEqual({ ...person, role })
  })

  test('makes somebody with a project a customer, whatever the groups', async () => {
    who({ groups: ['ops'], project: 'blue', name: 'Bob' }, 'bob')
    const jar = new CookieJar()
    await login(jar)
    expect(await whoami(jar)).toMatchObject({ type: 'person', name: 'Bob', role: null, project: 'blue' })
    expect((await send(jar, 'GET', '/api/endpoints')).status).toBe(403)
    const refused = await send(jar, 'GET', '/api/endpoints/query/logs.all?project=red')
    expect([refused.status, refused.body.error.message]).toEqual([
      403,
      'This token is limited to project blue; omit the project parameter.',
    ])
  })

  test.each([
    [{ groups: ['other'] }, 'groups'],
    [{}, 'groups'],
    [{ groups: { ops: true } }, 'groups'],
    [{ groups: ['ops'], project: '' }, 'project'],
    [{ groups: ['ops'], project: ['blue', 'red'] }, 'project'],
    [{ groups: ['ops'], project: 7 }, 'project'],
    [{ groups: ['ops'], project: 'a\nb' }, 'project'],
  ])('refuses somebody without a role with a page that names the claim: %j', async (claims, claim) => {
    who(claims, 'eve')
    const jar = new CookieJar()
    const { response } = await login(jar)
    expect(await pageOf(response)).toEqual([403, expect.stringContaining(`The claim ${claim} `)])
    expect(await whoami(jar)).toBe(401)
  })

  test('returns to paths of this service only', async () => {
    who({ groups: ['ops'] })
    const elsewhere = [
      '//evil.example',
      '/\\evil.example',
      'https://evil.example',
      'javascript:alert(1)',
      '/\t/evil',
      '/.//evil.example',
      '/x/..//evil.example',
      '/%2e//evil.example',
    ]
    for (const path of [...elsewhere, '', `/${'x'.repeat(2000)}`]) {
      const jar = new CookieJar()
      const { address } = await jar.follow(
        `${service.url}/auth/login?return_to=${encodeURIComponent(path)}`,
        `${service.url}/?`.slice(0, -1),
      )
      // The callback is below this address, too.
      const end = await jar.follow(address, '\0')
      expect([path, end.address]).toEqual([path, `${service.url}/`])
    }
  })

  test('does not accept a response twice, a foreign state, or an old one', async () => {
    who({ groups: ['ops'] })
    const jar = new CookieJar()
    const back = await comeBack(jar)
    const stranger = new CookieJar()
    const over = [400, 'This sign-in has expired or was already used. Sign in again.']
    expect(await pageOf(await stranger.send(back))).toEqual(over)
    const attempt = jar.header(service.url)
    expect((await jar.send(back)).status).toBe(302)
    expect(await whoami(jar)).toMatchObject({ role: 'admin' })
    expect(await pageOf(await jar.send(back))).toEqual(over)
    // Even with the cookie of the attempt, the issuer takes a code once.
    const replayed = await fetch(back, { headers: { Cookie: attempt }, redirect: 'manual' })
    expect(await codeOf(replayed.clone())).toBe('sign_in_failed')
    expect(await pageOf(replayed)).toEqual([400, expect.stringContaining('could not be verified')])
    const forged = attempt.replace(/=(.)/, (_, sign) => `=${sign === 'e' ? 'f' : 'e'}`)
    expect(await pageOf(await fetch(back, { headers: { Cookie: forged }, redirect: 'manual' }))).toEqual(over)
    const late = new CookieJar()
    const lateBack = await comeBack(late)
    clock.advance(600_000)
    expect(await pageOf(await late.send(lateBack))).toEqual(over)
    const denied = new CookieJar()
    const state = new URL(await comeBack(denied)).searchParams.get('state')
    const no = `${service.url}/auth/callback?error=access_denied&state=${state}&iss=${encodeURIComponent(issuer.url)}`
    const refused = await denied.send(no)
    expect(await codeOf(refused.clone())).toBe('sign_in_refused')
    expect(await pageOf(refused)).toEqual([403, 'The issuer refused the sign-in: access_denied.'])
  })

  test('works in two tabs at once, and forgets attempts that were given up', async () => {
    who({ groups: ['ops'] })
    const jar = new CookieJar()
    const backs = [await comeBack(jar), await comeBack(jar)]
    const both = await Promise.all(backs.map((back) => jar.send(back)))
    expect(both.map(({ status }) => status)).toEqual([302, 302])
    expect(await whoami(jar)).toMatchObject({ role: 'admin' })
    for (let times = 0; times < 20; times++) await jar.send(`${service.url}/auth/login`)
    expect(jar.header(service.url).match(/wellhead-sign-in-/g)?.length).toBe(4)
  })
})

describe('the response of the issuer', () => {
  /** Signs in with an ID token that the test makes. */
  const withToken = async (
    make: (claims: Record<string, unknown>) => Promise<string>,
    more: (claims: Record<string, unknown>) => Record<string, unknown> = (claims) => claims,
  ) => {
    const jar = new CookieJar()
    const start = await jar.send(`${service.url}/auth/login`)
    const { searchParams } = new URL(start.headers.get('location') as string)
    const seconds = Math.floor(Date.now() / 1000)
    const claims = more({
      ...{
        iss: issuer.url,
        sub: 'ada',
        aud: clientId,
        iat: seconds,
        exp: seconds + 60,
        name: 'Ada',
        email: 'a@b',
      },
      ...{ nonce: searchParams.get('nonce'), groups: ['ops'], project: null },
    })
    const idToken = await make(claims)
    issuer.intercept = ({ url }, response) => {
      if (url !== '/token') return false
      const body = { access_token: 'x', token_type: 'bearer', id_token: idToken }
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify(body))
      return true
    }
    const iss = encodeURIComponent(issuer.url)
    const back = `${service.url}/auth/callback?code=x&state=${searchParams.get('state')}&iss=${iss}`
    const response = await jar.send(back)
    issuer.intercept = undefined
    return { status: response.status, who: await whoami(jar), back, jar }
  }
  const sign = (claims: Record<string, unknown>) => issuer.sign(claims)
  const now = () => Math.floor(Date.now() / 1000)

  test('is accepted with a clock that is off by less than a minute', async () => {
    expect((await withToken(sign)).who).toMatchObject({ role: 'admin' })
    const late = await withToken(sign, (claims) => ({ ...claims, exp: now() - 40 }))
    expect(late.who).toMatchObject({ role: 'admin' })
    const early = await withToken(sign, (claims) => ({ ...claims, nbf: now() + 40 }))
    expect(early.who).toMatchObject({ role: 'admin' })
  })

  test.each<[string, (claims: Record<string, unknown>) => Record<string, unknown>]>([
    ['is over', (claims) => ({ ...claims, exp: now() - 90 })],
    ['is of tomorrow', (claims) => ({ ...claims, nbf: now() + 90 })],
    ['is for another client', (claims) => ({ ...claims, aud: 'another' })],
    ['is of another issuer', (claims) => ({ ...claims, iss: 'https://evil.example' })],
    ['is for another sign-in', (claims) => ({ ...claims, nonce: 'another' })],
    ['has no subject', ({ sub: _, ...claims }) => claims],
  ])('is refused if the token %s', async (_name, change) => {
    expect(await withToken(sign, change)).toMatchObject({ status: 400, who: 401 })
  })

  test('is refused without a signature, with that of another key, or with the secret as key', async () => {
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const unsigned = await withToken(async (claims) => `${encode({ alg: 'none' })}.${encode(claims)}.`)
    expect(unsigned).toMatchObject({ status: 400, who: 401 })
    const broken = await withToken(async (claims) => `${(await sign(claims)).slice(0, -8)}AAAAAAAA`)
    expect(broken).toMatchObject({ status: 400, who: 401 })
    const { SignJWT } = await import('jose')
    const withSecret = await withToken((claims) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(clientSecret)),
    )
    expect(withSecret).toMatchObject({ status: 400, who: 401 })
  })

  test('is refused if it names another issuer or none', async () => {
    for (const iss of ['&iss=https%3A%2F%2Fevil.example', '']) {
      const jar = new CookieJar()
      const back = await comeBack(jar)
      const response = await jar.send(back.replace(/&iss=[^&]*/, iss))
      expect([iss, response.status]).toEqual([iss, 400])
    }
  })

  test('is accepted with a new key', async () => {
    who({ groups: ['ops'] })
    await issuer.rotate()
    // A sign-in that fails reads the issuer's description and keys again.
    await login(new CookieJar())
    const jar = new CookieJar()
    await login(jar)
    expect(await whoami(jar)).toMatchObject({ role: 'admin' })
  })
})

describe('a session of a person', () => {
  test('changes definitions under its name, and cannot do more than its role', async () => {
    who({ groups: ['dev'], name: '  Grace\u0007 Hopper ' }, 'grace')
    const jar = new CookieJar()
    await login(jar)
    expect(
      (await send(jar, 'POST', '/api/endpoints', { name: 'by.grace', query: 'SELECT 1 AS n' })).status,
    ).toBe(201)
    const people = (await ask(service, service.adminToken.token, 'GET', '/api/people')).body
    const grace = people.find(({ name }: { name: string }) => name === 'Grace  Hopper')
    expect(grace).toMatchObject({ email: 'ada@example.com', role: 'editor', project: null })
    const { body } = await send(jar, 'GET', '/api/endpoints/by.grace')
    expect(body.updated_by).toBe(grace.id)
    expect((await send(jar, 'GET', '/api/people')).status).toBe(403)
    expect((await send(jar, 'POST', '/api/sources', { name: 'by_grace' })).status).toBe(403)
    const own = await send(jar, 'POST', '/api/access-tokens/self/session', { minutes: 5, scopes: ['query'] })
    expect(own.status).toBe(201)
  })

  test('ends when the person signs out, without ending others', async () => {
    who({ groups: ['ops'] })
    const [one, other] = [new CookieJar(), new CookieJar()]
    await login(one)
    await login(other)
    const kept = one.get(service.url, 'wellhead')
    expect(
      (await one.send(`${service.url}/auth/logout`, { method: 'POST', headers: { Origin: service.url } }))
        .status,
    ).toBe(204)
    expect(one.get(service.url, 'wellhead')).toBeUndefined()
    const stolen = await ask(service, undefined, 'GET', '/api/whoami', undefined, {
      Cookie: `wellhead=${kept}`,
    })
    expect([stolen.status, await whoami(one), await whoami(other)]).toEqual([401, 401, expect.anything()])
  })

  test('ends with everything that was created with it', async () => {
    who({ groups: ['ops'] })
    const jar = new CookieJar()
    await login(jar)
    const cookie = jar.get(service.url, 'wellhead') as string
    // Without a token, it gives the cookie that is there.
    const again = await jar.send(`${service.url}/auth/token`, {
      method: 'POST',
      headers: { Origin: service.url },
    })
    expect([again.status, jar.get(service.url, 'wellhead')]).toEqual([204, cookie])
    await ask(service, cookie, 'POST', '/auth/token')
    const made = await send(jar, 'POST', '/api/access-tokens/self/session', { minutes: 5 })
    const session = async () => (await ask(service, made.body.token, 'GET', '/api/whoami')).status
    expect(await session()).toBe(200)
    await jar.send(`${service.url}/auth/logout`, { method: 'POST', headers: { Origin: service.url } })
    expect([await session(), (await ask(service, cookie, 'GET', '/api/whoami')).status]).toEqual([401, 401])
  })

  test('ends when an admin ends it, or when the person lost the role', async () => {
    who({ groups: ['staff'] }, 'joan')
    const jar = new CookieJar()
    await login(jar)
    const admin = (method: string, path: string) => ask(service, service.adminToken.token, method, path)
    const joan = (await admin('GET', '/api/people')).body.find(
      ({ role }: { role: string }) => role === 'viewer',
    )
    expect((await admin('DELETE', `/api/people/${joan.id}/sessions`)).status).toBe(204)
    expect(await whoami(jar)).toBe(401)
    await login(jar)
    expect(await whoami(jar)).toMatchObject({ role: 'viewer' })
    who({ groups: ['dev'] }, 'joan')
    const promoted = new CookieJar()
    await login(promoted)
    expect(await whoami(jar)).toMatchObject({ role: 'editor' })
    who({ groups: [] }, 'joan')
    expect((await login(new CookieJar())).response.status).toBe(403)
    expect([await whoami(jar), await whoami(promoted)]).toEqual([401, 401])
    who({ groups: ['dev'] }, 'joan')
    await login(new CookieJar())
    expect([await whoami(jar), await whoami(promoted)]).toEqual([401, 401])
    expect((await admin('DELETE', '/api/people/nobody/sessions')).status).toBe(404)
  })

  test('goes on while the issuer is down, and signing in says so', async () => {
    who({ groups: ['ops'] })
    const jar = new CookieJar()
    await login(jar)
    const half = new CookieJar()
    const back = await comeBack(half)
    issuer.intercept = (request) => {
      request.socket.destroy()
      return true
    }
    const down = await half.send(back)
    expect(await codeOf(down.clone())).toBe('sign_in_unavailable')
    expect(await pageOf(down)).toEqual([503, expect.stringContaining('does not respond')])
    expect(down.headers.get('retry-after')).toBe('5')
    expect((await new CookieJar().send(`${service.url}/auth/login`)).status).toBe(503)
    expect(await whoami(jar)).toMatchObject({ role: 'admin' })
    issuer.intercept = (_request, response) => {
      response.writeHead(500).end()
      return true
    }
    expect((await new CookieJar().send(`${service.url}/auth/login`)).status).toBe(503)
    issuer.intercept = undefined
    const again = new CookieJar()
    await login(again)
    expect(await whoami(again)).toMatchObject({ role: 'admin' })
  })
})

describe('the audit', () => {
  const admin = (method: string, path: string, body?: unknown) =>
    ask(service, service.adminToken.token, method, path, body)
  interface Entry {
    id: string
    metadata: { action: string; actor: { type: string; name: string }; [field: string]: unknown }
  }
  const entries = async (query: string): Promise<Entry[]> =>
    (await admin('POST', '/api/sources/audit_events/search', { query, limit: 100 })).body
  const acts = async (query: string) =>
    (await entries(query))
      .map(({ metadata }) => `${metadata.actor.name} ${metadata.action} ${metadata.target}`)
      .reverse()

  test('says who changed what, from where, and who signed in and out', async () => {
    who({ groups: ['dev'], name: 'Mary Shelley' }, 'mary')
    const jar = new CookieJar()
    await login(jar)
    await send(jar, 'POST', '/api/endpoints?note=for+tests', { name: 'by.mary', query: 'SELECT 1 AS n' })
    await send(jar, 'PATCH', '/api/endpoints/by.mary', { description: 'one' })
    await send(jar, 'DELETE', '/api/endpoints/by.mary')
    await jar.send(`${service.url}/auth/logout`, { method: 'POST', headers: { Origin: service.url } })
    who({ groups: [], name: 'Mary Shelley' }, 'mary')
    await login(new CookieJar())
    await expect
      .poll(() => acts('actor_name:"Mary Shelley"'))
      .toEqual([
        'Mary Shelley person.sign_in Mary Shelley',
        'Mary Shelley endpoint.create by.mary',
        'Mary Shelley endpoint.update by.mary',
        'Mary Shelley endpoint.delete by.mary',
        'Mary Shelley person.sign_out Mary Shelley',
        'Mary Shelley person.sign_in_refused Mary Shelley',
      ])
    const [created] = await entries('action:endpoint.create target:by.mary')
    expect(created?.metadata).toMatchObject({
      actor: { type: 'person', id: expect.any(String), name: 'Mary Shelley' },
      ...{ version: 1, note: 'for tests', address: '127.0.0.1', request_id: expect.any(String) },
    })
    expect((await admin('GET', '/api/whoami')).body.name).toBe('admin token')
    const { id, token } = await makeToken(service, { scopes: ['query'], description: 'board' })
    expect((await ask(service, token, 'GET', '/api/whoami')).body.name).toBe('board')
    await ask(service, token, 'POST', '/auth/token')
    await ask(service, 'wh_wrong', 'POST', '/auth/token')
    await admin('DELETE', `/api/access-tokens/${id}`)
    await expect
      .poll(() => acts(`target_id:${id} OR action:token.sign_in*`))
      .toEqual(
        expect.arrayContaining([
          'admin token token.create board',
          `board token.sign_in ${id}`,
          ' token.sign_in_refused ',
          `admin token token.delete ${id}`,
        ]),
      )
  })

  test('says who deleted a link together with its dashboard', async () => {
    who({ groups: ['dev'], name: 'Emmy Noether' }, 'emmy')
    const jar = new CookieJar()
    await login(jar)
    expect((await send(jar, 'POST', '/api/dashboards', { name: 'of-emmy' })).status).toBe(201)
    const link = await send(jar, 'POST', '/api/dashboards/of-emmy/links', { all_projects: true })
    await admin('DELETE', '/api/dashboards/of-emmy')
    await expect
      .poll(() => acts(`target_id:${link.body.id}`))
      .toEqual([`Emmy Noether link.create ${link.body.id}`, `admin token link.delete ${link.body.id}`])
    const [deleted] = await entries(`target_id:${link.body.id} action:link.delete`)
    expect(deleted?.metadata).toMatchObject({ address: '127.0.0.1', request_id: expect.any(String) })
  })

  test('has sign-ins that the issuer refused, but nothing that is no sign-in', async () => {
    const refused = async () =>
      (await entries('action:*.sign_in_refused')).filter(({ metadata }) => metadata.actor.name === '').length
    const before = await refused()
    await new CookieJar().send(`${service.url}/auth/callback?code=x&state=y`)
    const jar = new CookieJar()
    const state = new URL(await comeBack(jar)).searchParams.get('state')
    const iss = encodeURIComponent(issuer.url)
    await jar.send(`${service.url}/auth/callback?error=access_denied&state=${state}&iss=${iss}`)
    expect((await ask(service, undefined, 'POST', '/auth/token')).status).toBe(401)
    expect(await refused()).toBe(before + 1)
  })

  test('is written by the service alone, and read by admins alone', async () => {
    const endpoint = { name: 'audit.all', query: 'SELECT event_message FROM audit_events' }
    const hidden = {
      name: 'audit.box',
      query: 'WITH a AS (SELECT action FROM audit_events) SELECT 1 AS n',
      sandbox: true,
    }
    expect((await admin('POST', '/api/endpoints', endpoint)).status).toBe(201)
    expect((await admin('POST', '/api/endpoints', hidden)).status).toBe(201)
    await admin('POST', '/api/endpoints', { name: 'audit.old', query: 'SELECT action FROM audit_events' })
    await admin('PATCH', '/api/endpoints/audit.old?breaking=true', { query: 'SELECT 1 AS n' })
    expect((await admin('GET', '/api/endpoints/query/audit.all')).body.result.length).toBeGreaterThan(0)
    const sql = 'SELECT count() AS n FROM audit_events'
    expect((await admin('POST', '/api/sql', { query: sql })).status).toBe(200)
    expect((await admin('POST', '/api/logs?source=audit_events', [{ message: 'x' }])).status).toBe(403)
    const alert = { name: 'audit-alert', endpoint: 'audit.all', when: 'rows > 0', notify: [] }
    const callers = [
      await makeToken(service, { scopes: ['edit'] }),
      await makeToken(service, { scopes: ['read'] }),
      await makeToken(service, { scopes: ['query', 'search'] }),
      await makeToken(service, { scopes: ['query', 'search'], project: 'blue' }),
    ]
    for (const [index, { token }] of callers.entries()) {
      const status = async (method: string, path: string, body?: unknown) =>
        (await ask(service, token, method, path, body)).status
      const source = '/api/sources/audit_events'
      const answers = [
        await status('POST', `${source}/search`, {}),
        await status('GET', `${source}/recent`),
        await status('GET', `${source}/tail`),
        await status('POST', `${source}/histogram`, {}),
        await status('POST', `${source}/values`, { path: 'action' }),
        await status('POST', `${source}/facets`, {}),
        await status('GET', `${source}/entries/catalog-1`),
        await status('GET', `${source}/schema`),
        await status('POST', '/api/sql', { query: sql }),
        await status('POST', '/api/endpoints/check', { query: sql }),
        await status('POST', '/api/endpoints/preview', { endpoint: { query: sql } }),
        await status('POST', '/api/endpoints/audit.old/replay', { endpoint: { query: sql } }),
        await status('POST', '/api/endpoints/audit.all/replay', { endpoint: {}, show_values: true }),
        await status('POST', '/api/endpoints', { name: 'audit.mine', query: sql }),
        await status('POST', '/api/endpoints/audit.old/versions/1/restore?breaking=true'),
        await status('POST', '/api/deployments', { endpoints: [{ name: 'audit.mine', query: sql }] }),
        await status('POST', '/api/alerts', alert),
        await status('POST', '/api/alerts/preview', alert),
      ]
      expect([index, answers]).toEqual([index, answers.map(() => 403)])
      const calls = [
        await status('GET', '/api/endpoints/query/audit.all'),
        await status('GET', '/api/endpoints/query/audit.box?sql=SELECT+*+FROM+a'),
        await status('GET', '/api/endpoints/query/audit.old?_version=1'),
      ]
      expect([index, calls.every((one) => one === 403 || one === 404)]).toEqual([index, true])
      const { body } = await ask(service, token, 'GET', '/api/whoami')
      expect(JSON.stringify(body)).not.toMatch(/audit_events|audit\.all|audit\.box/)
      const found = await ask(service, token, 'POST', '/api/search', { query: '' })
      expect([found.status, JSON.stringify(found.body)]).toEqual([
        200,
        expect.not.stringContaining('person.sign'),
      ])
      expect((await ask(service, token, 'POST', '/api/search', { sources: ['audit_events'] })).status).toBe(
        403,
      )
      const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/call' }
      for (const [name, input] of [
        ['search_logs', { source: 'audit_events' }],
        ['describe_source', { source: 'audit_events' }],
        ['audit_all', {}],
      ] as const) {
        const call = { ...rpc, params: { name, arguments: input } }
        const told = await ask(service, token, 'POST', '/mcp', call, {
          Accept: 'application/json, text/event-stream',
        })
        expect(JSON.stringify(told.body)).not.toContain('person.sign_in')
      }
    }
    expect((await admin('POST', '/api/alerts', alert)).status).toBe(201)
  })
})

test('every change has one entry in the audit, also if the service was killed right after it', async () => {
  const { path, remove } = scratchDirectory()
  const token = 'a-token-for-two-services'
  const environment = { WELLHEAD_ADMIN_TOKEN: token, WELLHEAD_DATA_DIR: path, WELLHEAD_STATISTICS: 'off' }
  const first = spawnService([], { ...environment, WELLHEAD_PORT: '0' })
  const url = await first.ready()
  const change = (name: string) =>
    ask({ url }, token, 'POST', '/api/endpoints', { name, query: 'SELECT 1 AS n' })
  const names = Array.from({ length: 6 }, (_, n) => `killed.${n}`)
  for (const name of names) expect((await change(name)).status).toBe(201)
  const engines = childrenOf(first.child.pid as number)
  for (const pid of [first.child.pid as number, ...engines]) process.kill(pid, 'SIGKILL')
  await first.exit
  // The engine gives up its lock when its last thread has ended.
  await vi.waitFor(() => checkUnused(path), 20_000)
  const second = await openService({ engine: 'embedded', dataDir: path, environment })
  try {
    const body = { query: 'action:endpoint.create', limit: 100 }
    const targets = async () =>
      (await ask(second, token, 'POST', '/api/sources/audit_events/search', body)).body
        .map(({ metadata }: { metadata: { target: string } }) => metadata.target)
        .sort()
    await expect.poll(targets).toEqual(names)
    // Another change follows them, and none is written twice.
    expect((await ask(second, token, 'PATCH', '/api/endpoints/killed.0', { description: 'x' })).status).toBe(
      200,
    )
    body.query = 'target:killed.0'
    await expect.poll(targets).toEqual(['killed.0', 'killed.0'])
  } finally {
    await second.close()
    remove()
  }
})

test('links to dashboards start with the public address, whatever host the request names', async () => {
  const internal = { url: service.url.replace('127.0.0.1', 'localhost') }
  const admin = (path: string, body: object) => ask(internal, service.adminToken.token, 'POST', path, body)
  expect((await admin('/api/dashboards', { name: 'shared' })).status).toBe(201)
  const { body } = await admin('/api/dashboards/shared/links', { all_projects: true })
  expect(body.url).toContain(`${service.url}/shared/`)
})
