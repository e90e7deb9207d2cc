import { describe, expect, test } from 'vitest'
import { CookieJar } from '../../../support/network/issuer.ts'
import type { PeopleStage } from './stage.ts'

export function signInJourneys(stage: PeopleStage): void {
  const { who, login, send, whoami, comeBack, pageOf, codeOf, clock } = stage

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
          `${stage.service.url}/auth/login?return_to=${encodeURIComponent(path)}`,
          `${stage.service.url}/?`.slice(0, -1),
        )
        // The callback is below this address, too.
        const end = await jar.follow(address, '\0')
        expect([path, end.address]).toEqual([path, `${stage.service.url}/`])
      }
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
      // Even with the cookie of the attempt, the issuer takes a code once.
      const replayed = await fetch(back, { headers: { Cookie: attempt }, redirect: 'manual' })
      expect(await codeOf(replayed.clone())).toBe('sign_in_failed')
      expect(await pageOf(replayed)).toEqual([400, expect.stringContaining('could not be verified')])
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
