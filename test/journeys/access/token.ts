import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createToken } from '../../../src/core/access/admin-token.ts'
import { ask, makeToken } from '../../support/callers.ts'
import type { ManualClock } from '../../support/manual-clock.ts'
import type { RunningService } from '../../support/service.ts'

const logsAll = '/api/endpoints/query/logs.all?project=abc'
const unknown = '00000000-0000-4000-8000-000000000000'

export function tokenJourneys(
  running: () => RunningService,
  clock: ManualClock,
  authFailuresPerMinute: number,
): void {
  const admin = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    ask(running(), running().adminToken.token, method, path, body, headers)

  describe('access tokens', () => {
    test('a token is shown once, listed without its secret and stored as a hash', async () => {
      const made = await admin('POST', '/api/access-tokens', { description: 'a board', scopes: ['query'] })
      expect(made.status).toBe(201)
      expect(made.headers.get('cache-control')).toBe('no-store')
      expect(made.headers.get('location')).toBe(`/api/access-tokens/${made.body.id}`)
      const { token, ...rest } = made.body
      expect(token).toMatch(/^wh_[0-9A-Za-z]{38}$/)
      expect(rest).toEqual({
        id: expect.any(String),
        description: 'a board',
        scopes: ['query'],
        project: null,
        parameters: {},
        expires_at: null,
        requests_per_minute: null,
        created_at: new Date(clock.now()).toISOString(),
        created_by: 'admin',
        created_by_name: 'admin token',
        updated_at: new Date(clock.now()).toISOString(),
        last_used_at: null,
        last_used_from: null,
        previous_valid_until: null,
      })
      const listed = await admin('GET', '/api/access-tokens')
      expect(listed.body).toContainEqual(rest)
      expect(JSON.stringify(listed.body)).not.toContain(token)
      const stored = await running().engine.query(
        { sql: `SELECT body FROM _catalog WHERE id = '${rest.id}'`, format: 'TabSeparatedRaw' },
        { deadlineMs: 60_000 },
      )
      expect(stored.body.toString()).toContain('"hash":"')
      expect(stored.body.toString()).not.toContain(token)
    })

    test('a token permits what its scopes allow, in either header, and nothing else', async () => {
      const { token } = await makeToken(running(), { scopes: ['query:logs.all', 'ingest:auth_logs'] })
      expect((await ask(running(), token, 'GET', logsAll)).status).toBe(200)
      expect(
        (await ask(running(), undefined, 'GET', logsAll, undefined, { Authorization: `Bearer ${token}` }))
          .status,
      ).toBe(200)
      for (const path of ['usage.api-counts?project=a&interval=daily', 'no.such.endpoint']) {
        const refused = await ask(running(), token, 'GET', `/api/endpoints/query/${path}`)
        expect(refused).toMatchObject({ status: 403, body: { error: { code: 'forbidden' } } })
      }
      expect((await ask(running(), token, 'POST', '/api/logs?source=auth_logs', [])).status).toBe(200)
      // Logflare's name for the same source.
      expect((await ask(running(), token, 'POST', '/api/logs?source=gotrue.logs.prod', [])).status).toBe(200)
      expect((await ask(running(), token, 'POST', '/api/logs?source=edge_logs', [])).status).toBe(403)
      expect((await ask(running(), token, 'GET', '/api/access-tokens')).status).toBe(403)
      expect((await ask(running(), token, 'GET', `${logsAll}&_explain=1`)).status).toBe(403)
      // Not in the URL, which is written to logs.
      expect((await ask(running(), undefined, 'GET', `${logsAll}&api_key=${token}`)).status).toBe(401)
    })

    test('fixed parameters are filled in, and other values are refused', async () => {
      const { token } = await makeToken(running(), {
        scopes: ['query'],
        parameters: { interval: 'daily' },
      })
      const call = (query: string) =>
        ask(running(), token, 'GET', `/api/endpoints/query/usage.api-counts?project=abc${query}`)
      expect((await call('')).status).toBe(200)
      expect((await call('&interval=daily')).status).toBe(200)
      expect(await call('&interval=hourly')).toMatchObject({
        status: 403,
        body: { error: { code: 'forbidden' } },
      })
      expect((await call('&interval=')).status).toBe(403)
    })

    test('every invalid token gets the same body, and a header marks a mistyped one', async () => {
      const soon = new Date(clock.now() + 60_000).toISOString()
      const expiring = await makeToken(running(), { scopes: ['query'], expires_at: soon })
      const revoked = await makeToken(running(), { scopes: ['query'] })
      expect((await ask(running(), expiring.token, 'GET', logsAll)).status).toBe(200)
      expect((await ask(running(), revoked.token, 'GET', logsAll)).status).toBe(200)
      expect((await admin('DELETE', `/api/access-tokens/${revoked.id}`)).status).toBe(204)
      clock.advance(60_000)
      const typo = `${revoked.token.slice(0, 10)}${revoked.token[10] === 'x' ? 'y' : 'x'}${revoked.token.slice(11)}`
      const answers = await Promise.all(
        [undefined, '', 'x', expiring.token, revoked.token, createToken(), typo, 'wh_', 'Ü'.repeat(50)].map(
          async (token) => {
            const { status, headers, body } = await ask(running(), token, 'GET', logsAll)
            const { request_id: _, ...error } = body.error
            return { body: JSON.stringify([status, error]), challenge: headers.get('www-authenticate') }
          },
        ),
      )
      expect(new Set(answers.map(({ body }) => body)).size).toBe(1)
      expect(answers[0]?.body).toContain('401')
      const plain = 'Bearer realm="wellhead"'
      const mistyped = `${plain}, error="invalid_token", error_description="The token is mistyped or incomplete."`
      expect(answers.map(({ challenge }) => challenge)).toEqual([
        ...Array(6).fill(plain),
        ...[mistyped, mistyped, plain],
      ])
      expect((await admin('GET', `/api/access-tokens/${revoked.id}`)).status).toBe(404)
    })

    test('too many invalid tokens from an address are limited, and valid tokens from it are not', async () => {
      const { token } = await makeToken(running(), { scopes: ['query'] })
      const call = async (key: string | undefined, remoteAddress: string) => {
        const headers = key === undefined ? {} : { 'x-api-key': key }
        const answer = await running().http.inject({ url: '/api/whoami', headers, remoteAddress })
        const { error } = answer.json()
        return { status: answer.statusCode, headers: answer.headers, error: { ...error, request_id: '' } }
      }
      const attacker = '203.0.113.7'
      const first = await call('wh_wrong', attacker)
      expect([first.status, first.error.code]).toEqual([401, 'unauthorized'])
      for (let sent = 1; sent < authFailuresPerMinute; sent++) {
        expect((await call(`wh_wrong${sent}`, attacker)).status).toBe(401)
      }
      const refused = await call('wh_wrong', attacker)
      expect([refused.status, refused.error.code]).toEqual([429, 'rate_limited'])
      expect(refused.headers['retry-after']).toBe('60')
      // The error is the same whatever is wrong with the token, so an attacker learns nothing.
      const revoked = await makeToken(running(), { scopes: ['query'] })
      await admin('DELETE', `/api/access-tokens/${revoked.id}`)
      expect((await call(revoked.token, attacker)).error).toEqual(refused.error)
      for (const [key, address, status] of [
        [token, attacker, 200],
        [undefined, attacker, 401],
        ['wh_wrong', '203.0.113.8', 401],
      ] as const) {
        expect([address, (await call(key, address)).status]).toEqual([address, status])
      }
      clock.advance(60_000)
      expect((await call('wh_wrong', attacker)).error).toEqual(first.error)
    })

    test('a limit of requests per minute is in the headers and applies until the minute ends', async () => {
      const { token } = await makeToken(running(), { scopes: ['query'], requests_per_minute: 2 })
      const path = '/api/endpoints/query/no.such.endpoint'
      const first = await ask(running(), token, 'GET', path)
      expect(first.status).toBe(404)
      expect(first.headers.get('ratelimit-policy')).toBe('"requests";q=2;w=60')
      expect(first.headers.get('ratelimit')).toBe('"requests";r=1;t=60')
      clock.advance(20_000)
      const second = await ask(running(), token, 'GET', path)
      expect(second.headers.get('x-ratelimit-limit')).toBe('2')
      expect(second.headers.get('x-ratelimit-remaining')).toBe('0')
      expect(second.headers.get('x-ratelimit-reset')).toBe('40')
      const third = await ask(running(), token, 'GET', path)
      expect(third).toMatchObject({ status: 429, body: { error: { code: 'rate_limited' } } })
      expect(third.headers.get('retry-after')).toBe('40')
      clock.advance(40_000)
      expect((await ask(running(), token, 'GET', path)).status).toBe(404)
    })

    test('a rotated token has a new secret, and the old one works during the overlap', async () => {
      const { id, token } = await makeToken(running(), { scopes: ['query'] })
      const rotated = await admin('POST', `/api/access-tokens/${id}/rotate`, { overlap_seconds: 60 })
      expect(rotated.status).toBe(200)
      expect(rotated.body.id).toBe(id)
      expect(rotated.body.token).not.toBe(token)
      const works = async (secret: string) => (await ask(running(), secret, 'GET', logsAll)).status
      expect([await works(token), await works(rotated.body.token)]).toEqual([200, 200])
      clock.advance(60_000)
      expect([await works(token), await works(rotated.body.token)]).toEqual([401, 200])
      await admin('DELETE', `/api/access-tokens/${id}`)
      expect(await works(rotated.body.token)).toBe(401)
    })

    test('a change applies to the next request, and the last use is reported', async () => {
      const { id, token } = await makeToken(running(), { scopes: ['query'], description: 'before' })
      expect((await ask(running(), token, 'GET', logsAll)).status).toBe(200)
      const changed = await admin('PATCH', `/api/access-tokens/${id}`, { scopes: ['ingest'] })
      expect(changed.body).toMatchObject({
        description: 'before',
        scopes: ['ingest'],
        last_used_at: new Date(clock.now()).toISOString(),
      })
      expect((await ask(running(), token, 'GET', logsAll)).status).toBe(403)
      const replaced = await admin('PUT', `/api/access-tokens/${id}`, { scopes: ['query'] })
      expect(replaced.body).toMatchObject({ description: '', scopes: ['query'] })
      expect((await ask(running(), token, 'GET', logsAll)).status).toBe(200)
    })

    test.each([
      [{}, 'scopes'],
      [{ scopes: [] }, 'scopes'],
      [{ scopes: ['root'] }, 'scopes.0'],
      [{ scopes: ['query:'] }, 'scopes.0'],
      [{ scopes: ['query'], project: '' }, 'project'],
      [{ scopes: ['query'], project: 'a\nb' }, 'project'],
      [{ scopes: ['query'], project: 'a\ud800' }, 'project'],
      [{ scopes: ['query'], description: '\udfff' }, 'description'],
      [{ scopes: ['query'], parameters: { interval: '\ud83d' } }, 'parameters.interval'],
      [{ scopes: ['admin'], project: 'abc' }, 'scopes'],
      [{ scopes: ['query'], parameters: { project: 'x' } }, 'parameters'],
      [{ scopes: ['query'], expires_at: 'tomorrow' }, 'expires_at'],
      [{ scopes: ['query'], expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
      [{ scopes: ['query'], requests_per_minute: 0 }, 'requests_per_minute'],
    ])('refuses a token with %j', async (fields, parameter) => {
      const refused = await admin('POST', '/api/access-tokens', fields)
      expect(refused).toMatchObject({
        status: 400,
        body: { error: { code: 'invalid_parameter', parameter } },
      })
    })

    test('returns 404 for an unknown token', async () => {
      for (const [method, path] of [
        ['GET', unknown],
        ['PATCH', unknown],
        ['DELETE', unknown],
        ['POST', `${unknown}/rotate`],
      ] as const) {
        const body = method === 'PATCH' ? {} : undefined
        expect((await admin(method, `/api/access-tokens/${path}`, body)).status, method).toBe(404)
      }
    })

    test('the admin token of the first start is in a file that only its owner can read', () => {
      const { adminToken, dataDir } = running()
      expect(readFileSync(join(dataDir, 'admin-token'), 'utf8').trim()).toBe(adminToken.token)
    })
  })
}
