import { describe, expect, test } from 'vitest'
import { createLog } from '../../../src/core/base/log.ts'
import { Oidc, type OidcSettings } from '../../../src/features/people/oidc.ts'
import { CookieJar, clientId, clientSecret } from '../../support/network/issuer.ts'
import type { PeopleStage } from './stage.ts'

export function signInJourneys(stage: PeopleStage): void {
  const { who, login, send, whoami, comeBack, pageOf, codeOf, clock } = stage
  const unverified = {
    role: null,
    refusal: { reason: expect.stringContaining('email_verified must be true') },
  }

  /** Who signs in with other settings, where the claim email decides about roles. */
  const personOf = async (changed: Partial<OidcSettings>) => {
    const { service, issuer } = stage
    const oidc = new Oidc({
      settings: {
        ...{ oidcIssuer: issuer.url, oidcClientId: clientId, oidcClientSecret: clientSecret },
        ...{ oidcScopes: 'openid', oidcGroupsClaim: 'email', oidcProjectClaim: 'project' },
        ...{ oidcUnverifiedEmail: 'refuse', publicUrl: service.url },
        oidcRoles: [{ role: 'viewer', groups: ['eve@example.com', '*'] }],
        ...changed,
      },
      ...{ secret: 'secret', clock, log: createLog('silent') },
    })
    const { url, attempt } = await oidc.begin('/')
    const { address } = await new CookieJar().follow(url, `${service.url}/auth/callback`)
    return (await oidc.finish(address, attempt, () => {})).person
  }

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
      expect(address).toBe(`${stage.service.url}/console/logs`)
      const person = { type: 'person', name: 'Ada Lovelace', email: 'ada@example.com', project: null }
      expect(await whoami(jar)).toEqual({ ...person, role })
    })

    test('makes somebody with a project a customer, whatever the groups', async () => {
      who({ groups: ['ops'], project: 'blue', name: 'Bob' }, 'bob')
      const jar = new CookieJar()
      await login(jar)
      expect(await whoami(jar)).toMatchObject({ type: 'person', name: 'Bob', role: null, project: 'blue' })
      expect((await send(jar, 'GET', '/api/endpoints')).status).toBe(403)
      // Whole entries are a right of their own.
      expect((await send(jar, 'POST', '/api/sources/edge_logs/search', {})).status).toBe(403)
      expect((await send(jar, 'GET', '/api/endpoints/query/logs.all')).status).toBe(200)
      const refused = await send(jar, 'GET', '/api/endpoints/query/logs.all?project=red')
      expect([refused.status, refused.body.error.message]).toEqual([
        403,
        'This token is limited to project blue; omit the project parameter.',
      ])
    })

    test.each([
      [{ groups: ['other'] }, 'role'],
      [{}, 'role'],
      [{ groups: { ops: true } }, 'role'],
      [{ groups: ['ops'], project: '' }, 'project'],
      [{ groups: ['ops'], project: ['blue', 'red'] }, 'project'],
      [{ groups: ['ops'], project: 7 }, 'project'],
      [{ groups: ['ops'], project: 'a\nb' }, 'project'],
    ])(
      'refuses somebody without a role with a page that says what to do, without settings: %j',
      async (claims, lacks) => {
        who(claims, 'eve')
        const jar = new CookieJar()
        const { response } = await login(jar)
        const [status, page] = await pageOf(response)
        expect([status, page]).toEqual([403, expect.stringContaining(`Your account has no ${lacks} here. `)])
        expect(page).toContain('The claim ')
        expect(page).not.toContain('WELLHEAD_')
        expect(await whoami(jar)).toBe(401)
      },
    )

    test.each<[string, OidcSettings['oidcUnverifiedEmail'], object, unknown]>([
      ['a verified address', 'refuse', { email_verified: true }, { role: 'viewer' }],
      ['an address that is not verified', 'refuse', { email_verified: false }, unverified],
      ['a text instead of true', 'refuse', { email_verified: 'true' }, unverified],
      ['an issuer that does not say', 'refuse', {}, unverified],
      ['an issuer that never says, if that is allowed', 'allow', {}, { role: 'viewer' }],
      ['a project', 'refuse', { project: 'blue' }, { project: 'blue', refusal: undefined }],
    ])('judges roles of addresses by email_verified: %s', async (_what, allowed, claims, expected) => {
      who({ email: 'eve@example.com', ...claims }, 'verified')
      expect(await personOf({ oidcUnverifiedEmail: allowed })).toMatchObject(expected as object)
    })

    test('does not take an address that is not verified for a project', async () => {
      who({ email: 'eve@example.com', email_verified: false }, 'verified')
      const person = await personOf({ oidcProjectClaim: 'email' })
      expect(person).toMatchObject({ ...unverified, project: null })
    })

    test('reads the description of the issuer at most once a minute, whatever codes come', async () => {
      let read = 0
      stage.issuer.intercept = ({ url = '' }) => {
        if (url.startsWith('/.well-known/')) read++
        return false
      }
      const garbage = async () => {
        const jar = new CookieJar()
        const back = new URL(await comeBack(jar))
        back.searchParams.set('code', 'garbage')
        return (await jar.send(back.href)).status
      }
      // The first one may read it, since it is older than a minute.
      await garbage()
      await garbage()
      read = 0
      for (let times = 0; times < 3; times++) expect(await garbage()).toBe(400)
      expect(read).toBe(0)
      clock.advance(60_000)
      for (let times = 0; times < 3; times++) await garbage()
      expect(read).toBe(1)
      stage.issuer.intercept = undefined
    })

    test('is limited by address and by person, before the issuer is asked', async () => {
      const { http } = stage.service
      const invent = async (remoteAddress: string) =>
        (await http.inject({ url: '/auth/callback?code=x&state=y', remoteAddress })).statusCode
      const attempt = async (remoteAddress: string) => {
        const { headers } = await http.inject({ url: '/auth/login' })
        const state = new URL(String(headers.location)).searchParams.get('state')
        const cookie = String(headers['set-cookie']).split(';')[0] as string
        const url = `/auth/callback?code=x&state=${state}`
        return (await http.inject({ url, headers: { cookie }, remoteAddress })).statusCode
      }
      const times = async (count: number, status: () => Promise<number>) => {
        const statuses = new Set<number>()
        for (let time = 0; time < count; time++) statuses.add(await status())
        return [...statuses]
      }
      // What another page sends from somebody's browser has no attempt, and keeps nobody from signing in.
      expect(await times(61, () => invent('203.0.113.60'))).toEqual([400])
      expect(await times(60, () => attempt('203.0.113.60'))).toEqual([400])
      expect(await attempt('203.0.113.60')).toBe(429)
      expect(await attempt('203.0.113.61')).toBe(400)
      clock.advance(60_000)
      expect(await attempt('203.0.113.60')).toBe(400)
      who({ groups: ['other'], name: 'Kim' }, 'kim')
      const signIns: number[] = []
      for (let times = 0; times < 61; times++) {
        const jar = new CookieJar()
        const back = new URL(await comeBack(jar))
        const headers = { cookie: jar.header(stage.service.url), host: back.host }
        const remoteAddress = `203.0.113.${100 + times}`
        const url = back.pathname + back.search
        signIns.push((await stage.service.http.inject({ url, headers, remoteAddress })).statusCode)
      }
      expect([new Set(signIns.slice(0, 60)), signIns[60]]).toEqual([new Set([403]), 429])
    })

    test('returns to pages of the console only', async () => {
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
        '/api/backup',
        '/console/../api/backup',
        '/console/%2e%2e/api/backup',
        '/consoles',
        '/docs',
      ]
      for (const path of [...elsewhere, '', `/${'x'.repeat(2000)}`]) {
        const jar = new CookieJar()
        const { address } = await jar.follow(
          `${stage.service.url}/auth/login?return_to=${encodeURIComponent(path)}`,
          `${stage.service.url}/?`.slice(0, -1),
        )
        // The callback is below this address, too.
        const end = await jar.follow(address, '\0')
        expect([path, end.address]).toEqual([path, `${stage.service.url}/`])
      }
      const page = '/console/logs?source=edge_logs#x'
      expect((await login(new CookieJar(), page)).address).toBe(stage.service.url + page)
    })

    test('does not accept a response twice, a foreign state, or an old one', async () => {
      who({ groups: ['ops'] })
      const jar = new CookieJar()
      const back = await comeBack(jar)
      const stranger = new CookieJar()
      const over = [400, 'This sign-in has expired or was already used. Sign in again.']
      expect(await pageOf(await stranger.send(back))).toEqual(over)
      const attempt = jar.header(stage.service.url)
      expect((await jar.send(back)).status).toBe(302)
      expect(await whoami(jar)).toMatchObject({ role: 'admin' })
      expect(await pageOf(await jar.send(back))).toEqual(over)
      // Even with the cookie of the attempt, and with another code.
      for (const address of [back, back.replace(/code=[^&]+/, 'code=another')]) {
        const replayed = await fetch(address, { headers: { Cookie: attempt }, redirect: 'manual' })
        expect(await codeOf(replayed.clone())).toBe('sign_in_failed')
        expect(await pageOf(replayed)).toEqual(over)
      }
      const forged = attempt.replace(/=(.)/, (_, sign) => `=${sign === 'e' ? 'f' : 'e'}`)
      expect(await pageOf(await fetch(back, { headers: { Cookie: forged }, redirect: 'manual' }))).toEqual(
        over,
      )
      const late = new CookieJar()
      const lateBack = await comeBack(late)
      clock.advance(600_000)
      expect(await pageOf(await late.send(lateBack))).toEqual(over)
      const denied = new CookieJar()
      const state = new URL(await comeBack(denied)).searchParams.get('state')
      const no = `${stage.service.url}/auth/callback?error=access_denied&state=${state}&iss=${encodeURIComponent(stage.issuer.url)}`
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
      for (let times = 0; times < 20; times++) await jar.send(`${stage.service.url}/auth/login`)
      expect(jar.header(stage.service.url).match(/wellhead-sign-in-/g)?.length).toBe(4)
    })
  })
}
