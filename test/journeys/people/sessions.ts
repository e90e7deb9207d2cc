import { describe, expect, test } from 'vitest'
import { ask } from '../../support/callers.ts'
import { CookieJar } from '../../support/network/issuer.ts'
import type { PeopleStage } from './stage.ts'

export function sessionJourneys(stage: PeopleStage): void {
  const { who, login, send, whoami, comeBack, pageOf, codeOf } = stage

  describe('a session of a person', () => {
    test('changes definitions under its name, and cannot do more than its role', async () => {
      who({ groups: ['dev'], name: '  Grace\u0007 Hopper ' }, 'grace')
      const jar = new CookieJar()
      await login(jar)
      expect(
        (await send(jar, 'POST', '/api/endpoints', { name: 'by.grace', query: 'SELECT 1 AS n' })).status,
      ).toBe(201)
      const people = (await ask(stage.service, stage.service.adminToken.token, 'GET', '/api/people')).body
      const grace = people.find(({ name }: { name: string }) => name === 'Grace  Hopper')
      expect(grace).toMatchObject({ email: 'ada@example.com', role: 'editor', project: null })
      const { body } = await send(jar, 'GET', '/api/endpoints/by.grace')
      expect(body.updated_by).toBe(grace.id)
      expect((await send(jar, 'GET', '/api/people')).status).toBe(403)
      expect((await send(jar, 'POST', '/api/sources', { name: 'by_grace' })).status).toBe(403)
      const own = await send(jar, 'POST', '/api/access-tokens/self/session', {
        minutes: 5,
        scopes: ['query'],
      })
      expect(own.status).toBe(201)
    })

    test('ends when the person signs out, without ending others', async () => {
      who({ groups: ['ops'] })
      const [one, other] = [new CookieJar(), new CookieJar()]
      await login(one)
      await login(other)
      const kept = one.get(stage.service.url, 'wellhead')
      expect(
        (
          await one.send(`${stage.service.url}/auth/logout`, {
            method: 'POST',
            headers: { Origin: stage.service.url },
          })
        ).status,
      ).toBe(204)
      expect(one.get(stage.service.url, 'wellhead')).toBeUndefined()
      const stolen = await ask(stage.service, undefined, 'GET', '/api/whoami', undefined, {
        Cookie: `wellhead=${kept}`,
      })
      expect([stolen.status, await whoami(one), await whoami(other)]).toEqual([401, 401, expect.anything()])
    })

    test('ends with everything that was created with it', async () => {
      who({ groups: ['ops'] })
      const jar = new CookieJar()
      await login(jar)
      const cookie = jar.get(stage.service.url, 'wellhead') as string
      // Without a token, it gives the cookie that is there.
      const again = await jar.send(`${stage.service.url}/auth/token`, {
        method: 'POST',
        headers: { Origin: stage.service.url },
      })
      expect([again.status, jar.get(stage.service.url, 'wellhead')]).toEqual([204, cookie])
      await ask(stage.service, cookie, 'POST', '/auth/token')
      const made = await send(jar, 'POST', '/api/access-tokens/self/session', { minutes: 5 })
      const session = async () => (await ask(stage.service, made.body.token, 'GET', '/api/whoami')).status
      expect(await session()).toBe(200)
      await jar.send(`${stage.service.url}/auth/logout`, {
        method: 'POST',
        headers: { Origin: stage.service.url },
      })
      expect([await session(), (await ask(stage.service, cookie, 'GET', '/api/whoami')).status]).toEqual([
        401, 401,
      ])
    })

    test('ends when an admin ends it, or when the person lost the role', async () => {
      who({ groups: ['staff'] }, 'joan')
      const jar = new CookieJar()
      await login(jar)
      const admin = (method: string, path: string) =>
        ask(stage.service, stage.service.adminToken.token, method, path)
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

    test('ends the links of a person with all sessions, or with the role', async () => {
      who({ groups: ['dev'] }, 'lise')
      const admin = (method: string, path: string, body?: unknown) =>
        ask(stage.service, stage.service.adminToken.token, method, path, body)
      await admin('POST', '/api/dashboards', { name: 'of-lise' })
      const path = '/api/dashboards/of-lise/links'
      const share = async () => {
        const jar = new CookieJar()
        await login(jar)
        const { body } = await send(jar, 'POST', path, { all_projects: true })
        const open = async () => (await fetch(`${body.url}/session`, { method: 'POST' })).status
        expect(await open()).toBe(201)
        return open
      }
      const first = await share()
      const [{ created_by: lise }] = (await admin('GET', path)).body
      expect((await admin('DELETE', `/api/people/${lise}/sessions`)).status).toBe(204)
      expect([await first(), (await admin('GET', path)).body]).toEqual([404, []])
      const links = [first]
      for (const groups of [['staff'], []]) {
        links.push(await share())
        who({ groups }, 'lise')
        await login(new CookieJar())
        who({ groups: ['dev'] }, 'lise')
        await login(new CookieJar())
      }
      // They stay ended, although their maker has the role again.
      expect(await Promise.all(links.map((open) => open()))).toEqual([404, 404, 404])
    })

    test('goes on while the issuer is down, and signing in says so', async () => {
      who({ groups: ['ops'] })
      const jar = new CookieJar()
      await login(jar)
      const half = new CookieJar()
      const back = await comeBack(half)
      stage.issuer.intercept = (request) => {
        request.socket.destroy()
        return true
      }
      const down = await half.send(back)
      expect(await codeOf(down.clone())).toBe('sign_in_unavailable')
      expect(await pageOf(down)).toEqual([503, expect.stringContaining('does not respond')])
      expect(down.headers.get('retry-after')).toBe('5')
      expect((await new CookieJar().send(`${stage.service.url}/auth/login`)).status).toBe(503)
      expect(await whoami(jar)).toMatchObject({ role: 'admin' })
      stage.issuer.intercept = (_request, response) => {
        response.writeHead(500).end()
        return true
      }
      expect((await new CookieJar().send(`${stage.service.url}/auth/login`)).status).toBe(503)
      stage.issuer.intercept = undefined
      const again = new CookieJar()
      await login(again)
      expect(await whoami(again)).toMatchObject({ role: 'admin' })
    })
  })
}
