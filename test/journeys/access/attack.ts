import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { ask, type JsonResponse, type MadeToken, makeToken } from '../../support/callers.ts'
import type { ManualClock } from '../../support/manual-clock.ts'
import { rawStatus } from '../../support/network/raw-request.ts'
import type { RunningService } from '../../support/service.ts'
import { attackOnLimits, type Declare } from './attack-on-limits.ts'

const [mine, theirs] = ['attack-a', 'attack-b'] as const
const nobody = '00000000-0000-4000-8000-000000000000'
const entries = '/api/endpoints/query/attack.entries'

/** An attack for each of the OWASP API Security Top 10 (2023), in their order; `onlyData` leaves out those that never reach the engine. */
export function attackJourneys(
  running: () => RunningService,
  clock: ManualClock,
  { onlyData = false } = {},
): void {
  const onceEnough: Declare = (name, run) => void (onlyData || test(name, run))
  const admin = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    ask(running(), running().adminToken.token, method, path, body, headers)

  describe('attacks', () => {
    let tenant: MadeToken
    let other: MadeToken
    const asTenant = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
      ask(running(), tenant.token, method, path, body, headers)

    beforeAll(async () => {
      tenant = await makeToken(running(), { scopes: ['query', 'ingest'], project: mine })
      other = await makeToken(running(), { scopes: ['query'], project: theirs })
      const timestamp = new Date(clock.now() - 60_000).toISOString()
      const sent = [mine, theirs].map((project) => ({
        id: `${project}/1`,
        project,
        timestamp,
        event_message: `secret of ${project}`,
      }))
      expect((await admin('POST', '/api/logs?source=edge_logs', sent)).body.accepted).toBe(2)
      const made = await admin('POST', '/api/endpoints', {
        published: true,
        name: 'attack.entries',
        query: 'SELECT id, event_message FROM edge_logs WHERE @id IS NULL OR id = @id',
        cache_seconds: 60,
      })
      expect(made.status).toBe(201)
    })

    test("1: another tenant's data cannot be read by id, nor distinguished from missing data", async () => {
      const rows = async (query: string) => (await asTenant('GET', `${entries}?${query}`)).body.result
      expect(await rows(`id=${mine}/1`)).toHaveLength(1)
      expect(await rows(`id=${theirs}/1`)).toEqual(await rows('id=nobody/1'))

      const kept = await ask(running(), other.token, 'GET', entries)
      expect(kept.body.result).toEqual([{ id: `${theirs}/1`, event_message: `secret of ${theirs}` }])
      const unknown = await asTenant('GET', entries, undefined, { 'Cache-Control': 'only-if-cached' })
      expect(unknown.status).toBe(504)
      const etag = kept.headers.get('etag') as string
      const own = await asTenant('GET', entries, undefined, { 'If-None-Match': etag })
      expect([own.status, JSON.stringify(own.body)]).toEqual([200, expect.not.stringContaining(theirs)])

      const { token } = await makeToken(running(), { scopes: ['query:attack.entries'] })
      const { id } = (await admin('GET', '/api/endpoints/logs.all')).body
      const paths = [
        'logs.all',
        id,
        id.toUpperCase(),
        'no.such.endpoint',
        nobody,
        'attack.entries/../logs.all',
      ]
      const refusals = await Promise.all(
        paths.map((reference) =>
          ask(running(), token, 'GET', `/api/endpoints/query/${encodeURIComponent(reference)}?project=a`),
        ),
      )
      expect(new Set(refusals.map(withoutId))).toEqual(new Set([withoutId(refusals[0] as JsonResponse)]))
      expect(refusals[0]?.status).toBe(403)
      const tokens = [tenant.id, other.id, nobody].map((each) =>
        asTenant('GET', `/api/access-tokens/${each}`),
      )
      expect(new Set((await Promise.all(tokens)).map(withoutId)).size).toBe(1)
    })

    onceEnough('2: only the exact token, sent once in one of the two headers, is accepted', async () => {
      const { token, id } = await makeToken(running(), { scopes: ['query'] })
      const get = (headers: string[], query = '') =>
        rawStatus(running(), `GET /api/endpoints/query/none${query}`, headers)
      // A valid token gets 404, because the endpoint does not exist.
      const good = [`X-API-KEY: ${token}`, `x-api-key:${token}`, `Authorization: Bearer ${token}`]
      for (const header of [...good, `Authorization: bearer  ${token}`]) {
        expect([header, await get([header])]).toEqual([header, 404])
      }
      const swapped = token.replace(/[a-z]/i, (letter) =>
        letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
      )
      const hash = createHash('sha256').update(token)
      const digest = hash.digest('hex')
      const values = [
        swapped,
        token.toUpperCase(),
        token.slice(0, -1),
        token.slice(3),
        `${token}x`,
        id,
        digest,
      ]
      const names = [
        '__proto__',
        'constructor',
        'toString',
        'admin',
        'null',
        'undefined',
        '*',
        '[object Object]',
      ]
      const bad: string[][] = [
        ...[...values, ...names, `"${token}"`, `${token},${token}`, `Bearer ${token}`, `${token};`].map(
          (value) => [`X-API-KEY: ${value}`],
        ),
        ...[token, `Bearer${token}`, `Bearer: ${token}`, `Bearer ${token} ${token}`, `Token ${token}`].map(
          (value) => [`Authorization: ${value}`],
        ),
        [`Authorization: Basic ${Buffer.from(`:${token}`).toString('base64')}`],
        [`Authorization: Basic ${Buffer.from(`${token}:`).toString('base64')}`],
        [`Cookie: X-API-KEY=${token}; token=${token}`],
        [`X_API_KEY: ${token}`],
        [`X-API-KEY-2: ${token}`],
        [`Proxy-Authorization: Bearer ${token}`],
        [`X-API-KEY: ${token}`, `X-API-KEY: ${token}`],
        [`X-API-KEY: ${token}`, 'X-API-KEY: wrong'],
        ['X-API-KEY: wrong', `X-API-KEY: ${token}`],
        ['X-API-KEY: wrong', `Authorization: Bearer ${token}`],
        ['X-API-KEY:', `Authorization: Bearer ${token}`],
        ['Authorization: Bearer wrong', `Authorization: Bearer ${token}`],
      ]
      for (const headers of bad) expect([headers, await get(headers)]).toEqual([headers, 401])
      for (const name of [
        'token',
        'api_key',
        'apikey',
        'access_token',
        'key',
        'X-API-KEY',
        'Authorization',
      ]) {
        expect([name, await get([], `?${name}=${token}`)]).toEqual([name, 401])
      }
      // Malformed header lines are not read as a token.
      for (const header of [
        `X-API-KEY : ${token}`,
        `X-API-KEY: \0${token}`,
        `X: 1\r\n X-API-KEY: ${token}`,
      ]) {
        expect([400, 401]).toContain(await get([header]))
      }
    })

    onceEnough('3: read-only fields cannot be set, and no field grants permissions', async () => {
      const forged = {
        version: 99,
        columns: [],
        created_at: '1999',
        updated_at: '1999',
        updated_by: 'wellhead',
      }
      const fields = { name: 'attack.forged', query: 'SELECT 1 AS one', published: true, ...forged }
      const real = { updated_by: 'admin', columns: [{ name: 'one', type: 'UInt8' }] }
      const made = await admin('POST', '/api/endpoints', fields)
      expect(made.body).toMatchObject({
        ...real,
        version: 1,
        created_at: new Date(clock.now()).toISOString(),
      })
      const { id, created_at } = made.body
      const path = `/api/endpoints/${id}`
      expect((await admin('PUT', path, fields)).body).toMatchObject({ ...real, id, version: 2, created_at })
      expect((await admin('PATCH', path, forged)).body).toMatchObject({ ...real, id, version: 3, created_at })
      for (const method of ['PUT', 'PATCH']) {
        expect(await admin(method, path, { ...fields, id: nobody })).toMatchObject({
          status: 400,
          body: { error: { parameter: 'id' } },
        })
      }

      const token = await makeToken(running(), { scopes: ['query'] })
      const address = `/api/access-tokens/${token.id}`
      const before = (await admin('GET', address)).body
      expect(Object.keys(before)).not.toContain('hash')
      for (const field of [
        'id',
        'hash',
        'token',
        'created_at',
        'updated_at',
        'last_used_at',
        'previous',
        'role',
      ]) {
        const sent = { scopes: ['admin'], [field]: tenant.token }
        for (const [method, at] of [
          ['POST', '/api/access-tokens'],
          ['PUT', address],
          ['PATCH', address],
        ] as const) {
          expect([field, method, (await admin(method, at, sent)).status]).toEqual([field, method, 400])
        }
      }
      for (const poison of ['"__proto__":{"isAdmin":true}', '"constructor":{"prototype":{"isAdmin":true}}']) {
        const text = `{"name":"attack.poison","query":"SELECT 1","scopes":["query"],${poison}}`
        for (const at of ['/api/endpoints', '/api/access-tokens', '/api/sources', entries]) {
          expect([at, (await admin('POST', at, text)).status]).toEqual([at, 400])
        }
        expect((await admin('POST', '/api/logs?source=edge_logs', `[{${poison}}]`)).status).toBeLessThan(500)
      }
      expect('isAdmin' in {}).toBe(false)

      for (const method of ['PUT', 'PATCH']) {
        expect((await ask(running(), token.token, method, address, { scopes: ['admin'] })).status).toBe(403)
        const raised = { scopes: ['admin'], project: null }
        expect((await asTenant(method, `/api/access-tokens/${tenant.id}`, raised)).status).toBe(403)
      }
      const { last_used_at: _, last_used_from: _from, ...after } = (await admin('GET', address)).body
      expect(before).toMatchObject(after)
    })

    onceEnough('5: no spelling of a path opens an admin route', async () => {
      const key = `X-API-KEY: ${tenant.token}`
      const levels = ['read', 'edit', 'admin']
      const routes = running().http.routeList.filter(({ access }) => levels.includes(access))
      expect(routes.length).toBeGreaterThan(20)
      const inside: string[] = []
      for (const { method, path } of routes) {
        const address = path.replace(/:\w+/g, 'logs.all')
        const last = address.slice(1).replaceAll('/', '%2f')
        for (const written of [
          address,
          `${address}/`,
          `${address}?`,
          `${address}%00`,
          `${address};a=b`,
          `${address}%20`,
          `/${address}`,
          address.replace('/api/', '/api//'),
          address.replace('/api/', '/%61pi/'),
          address.replace('/api/', '/%2561pi/'),
          address.replace('/api/', '/API/'),
          address.replace('/api/', '/./api/'),
          address.replace('/api/', '/health/../api/'),
          address.replace('/api/', '/api/endpoints/query/%2e%2e/%2e%2e/'),
          address.replace('/api/', '\\api\\'),
          `/${last}`,
          `http://127.0.0.1${address}`,
        ]) {
          for (const sent of method === 'GET' ? ['GET', 'HEAD'] : [method]) {
            const status = await rawStatus(running(), `${sent} ${written}`, [key, 'Content-Length: 0'])
            if (![400, 403, 404, 405].includes(status)) inside.push(`${sent} ${written}: ${status}`)
            const stranger = await rawStatus(running(), `${sent} ${written}`, ['Content-Length: 0'])
            if (![400, 401, 404, 405].includes(stranger))
              inside.push(`${sent} ${written}, nobody: ${stranger}`)
          }
        }
      }
      expect(inside).toEqual([])
      for (const header of ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override', '_method']) {
        await asTenant('POST', `${entries}?_method=DELETE`, {}, { [header]: 'DELETE' })
      }
      for (const header of ['X-Original-URL', 'X-Rewrite-URL', 'X-Forwarded-Uri', 'X-Forwarded-Prefix']) {
        const answer = await asTenant('GET', '/health', undefined, { [header]: '/api/access-tokens' })
        expect(answer.body).toEqual({ status: 'alive' })
      }
      expect((await admin('GET', '/api/endpoints/attack.entries')).status).toBe(200)
      for (const method of ['TRACE', 'OPTIONS', 'PROPFIND']) {
        expect([method, await rawStatus(running(), `${method} /api/endpoints`, [key])]).toEqual([method, 405])
      }
    })

    test('6: only admins change permissions and data, and changes take effect immediately', async () => {
      const own = `/api/access-tokens/${tenant.id}`
      expect((await asTenant('POST', `${own}/rotate`)).status).toBe(403)
      expect((await asTenant('DELETE', `/api/access-tokens/${other.id}`)).status).toBe(403)
      expect((await admin('POST', '/api/access-tokens', { scopes: ['admin'], project: mine })).status).toBe(
        400,
      )
      expect((await admin('POST', '/api/sources', { name: 'attack_source' })).status).toBe(201)
      expect((await admin('DELETE', '/api/sources/attack_source')).status).toBe(400)
      expect((await admin('DELETE', '/api/sources/attack_source?confirm=attack_source')).status).toBe(204)

      const rotated = await admin('POST', `/api/access-tokens/${other.id}/rotate`, { overlap_seconds: 0 })
      const status = async (token: string) => (await ask(running(), token, 'GET', entries)).status
      expect([await status(other.token), await status(rotated.body.token)]).toEqual([401, 200])
      // A cached result is not served to a revoked token.
      await admin('DELETE', `/api/access-tokens/${other.id}`)
      expect(await status(rotated.body.token)).toBe(401)
    })

    attackOnLimits(running, () => tenant, onceEnough)
  })
}

function withoutId({ status, body }: JsonResponse): string {
  const { request_id: _, ...error } = body.error
  return JSON.stringify([status, error])
}
