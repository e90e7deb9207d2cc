import { beforeAll, describe, expect, test } from 'vitest'
import type { RouteAccess } from '../../../src/http/route-access.ts'
import { ask, makeToken } from '../../support/callers.ts'
import type { RunningService } from '../../support/service.ts'

const nobody = '00000000-0000-4000-8000-000000000000'

interface Expected {
  access: RouteAccess
  /** Where to call, if that is not the path itself. */
  at?: string
  body?: unknown
  /** What a caller hears who is let in. Nothing that these calls name is there, and no body of theirs is taken. */
  inside: number
}

/** Every route, and who may call it. A route that is not here makes the test fail. */
const routes: Record<string, Expected> = {
  'GET /': { access: 'public', inside: 200 },
  'GET /console/:page': { access: 'public', at: '/console/tokens', inside: 200 },
  'GET /console/:page/:name': { access: 'public', at: '/console/sources/edge_logs', inside: 200 },
  'GET /console/assets/:file': { access: 'public', inside: 404 },
  'GET /api/whoami': { access: 'any', inside: 200 },
  'GET /api/usage': { access: 'admin', inside: 200 },
  'GET /api/cache': { access: 'admin', inside: 200 },
  'POST /api/endpoints/check': { access: 'admin', body: {}, inside: 400 },
  'POST /api/endpoints/preview': { access: 'admin', body: {}, inside: 400 },
  'POST /api/sources/:name/search': { access: 'admin', body: {}, inside: 404 },
  'POST /api/sources/:name/histogram': { access: 'admin', body: {}, inside: 404 },
  'POST /api/sources/:name/values': { access: 'admin', body: { path: 'project' }, inside: 404 },
  'GET /health': { access: 'public', inside: 200 },
  'GET /ready': { access: 'public', inside: 200 },
  'GET /docs/style.css': { access: 'public', inside: 200 },
  'GET /docs': { access: 'optional', inside: 200 },
  'GET /openapi.json': { access: 'optional', inside: 200 },
  'GET /api/endpoints/query/:reference': { access: 'query', at: '/logs.all?_format=none', inside: 406 },
  'POST /api/endpoints/query/:reference': {
    access: 'query',
    at: '/logs.all',
    body: { _format: 'none' },
    inside: 406,
  },
  'POST /api/logs': { access: 'ingest', at: '?source=edge_logs', body: 'no JSON', inside: 400 },
  'POST /logs': { access: 'ingest', at: '?source=edge_logs', body: 'no JSON', inside: 400 },
  'POST /v1/logs': { access: 'ingest', body: 'no JSON', inside: 400 },
  'GET /api/status': { access: 'admin', inside: 200 },
  'GET /metrics': { access: 'admin', inside: 200 },
  'GET /api/endpoints': { access: 'admin', inside: 200 },
  'POST /api/endpoints': { access: 'admin', body: {}, inside: 400 },
  'GET /api/endpoints/:reference': { access: 'admin', inside: 404 },
  'PUT /api/endpoints/:reference': { access: 'admin', body: {}, inside: 404 },
  'PATCH /api/endpoints/:reference': { access: 'admin', body: {}, inside: 404 },
  'DELETE /api/endpoints/:reference': { access: 'admin', inside: 404 },
  'GET /api/endpoints/:reference/versions': { access: 'admin', inside: 404 },
  'GET /api/endpoints/:reference/paths': { access: 'admin', inside: 404 },
  'GET /api/endpoints/:reference/slow': { access: 'admin', inside: 404 },
  'POST /api/endpoints/:reference/versions/:version/restore': { access: 'admin', body: {}, inside: 400 },
  'POST /api/deployments': { access: 'admin', body: {}, inside: 400 },
  'GET /api/sources': { access: 'admin', inside: 200 },
  'POST /api/sources': { access: 'admin', body: {}, inside: 400 },
  'GET /api/sources/:name': { access: 'admin', inside: 404 },
  'PUT /api/sources/:name': { access: 'admin', body: {}, inside: 404 },
  'PATCH /api/sources/:name': { access: 'admin', body: {}, inside: 404 },
  'DELETE /api/sources/:name': { access: 'admin', inside: 404 },
  'GET /api/sources/:name/schema': { access: 'admin', inside: 404 },
  'GET /api/sources/:name/recent': { access: 'admin', inside: 404 },
  'GET /api/sources/:name/tail': { access: 'query', inside: 404 },
  'GET /api/access-tokens': { access: 'admin', inside: 200 },
  'POST /api/access-tokens': { access: 'admin', body: {}, inside: 400 },
  'GET /api/access-tokens/:id': { access: 'admin', inside: 404 },
  'PUT /api/access-tokens/:id': { access: 'admin', body: {}, inside: 404 },
  'PATCH /api/access-tokens/:id': { access: 'admin', body: {}, inside: 404 },
  'DELETE /api/access-tokens/:id': { access: 'admin', inside: 404 },
  'GET /api/backup': { access: 'admin', at: '?_format=none', inside: 406 },
  'POST /api/access-tokens/:id/rotate': { access: 'admin', body: {}, inside: 404 },
}

type Outcome = 'in' | 401 | 403
type Doors = Record<RouteAccess, Outcome>

const stranger: Doors = { public: 'in', optional: 401, any: 401, query: 401, ingest: 401, admin: 401 }
const asks: Doors = { public: 'in', optional: 'in', any: 'in', query: 'in', ingest: 403, admin: 403 }
const sends: Doors = { ...asks, query: 403, ingest: 'in' }

interface CallerKind {
  /** What its token is made of; none is made where nothing is said. */
  fields?: Record<string, unknown>
  doors: Doors
  /** Routes that it passes the door of, for something else than it was given. */
  elsewhere?: readonly string[]
}

const sending = ['POST /api/logs', 'POST /logs']
const asking = ['GET /api/endpoints/query/:reference', 'POST /api/endpoints/query/:reference']

/** Raw entries are for admins and tenants: nothing would narrow down what other tokens see. */
const tailing = ['GET /api/sources/:name/tail']

const callers: Record<string, CallerKind> = {
  'no token': { doors: { ...stranger, optional: 'in' } },
  'a wrong token': { doors: stranger },
  'a revoked token': { fields: { scopes: ['query', 'ingest'] }, doors: stranger },
  admin: { doors: { public: 'in', optional: 'in', any: 'in', query: 'in', ingest: 'in', admin: 'in' } },
  query: { fields: { scopes: ['query'] }, doors: asks, elsewhere: tailing },
  'query:<the endpoint>': { fields: { scopes: ['query:logs.all'] }, doors: asks, elsewhere: tailing },
  'query:<another endpoint>': {
    fields: { scopes: ['query:greet'] },
    doors: asks,
    elsewhere: [...asking, ...tailing],
  },
  ingest: { fields: { scopes: ['ingest'] }, doors: sends },
  'ingest:<the source>': { fields: { scopes: ['ingest:edge_logs'] }, doors: sends },
  'ingest:<another source>': {
    fields: { scopes: ['ingest:auth_logs'] },
    doors: sends,
    // In OTLP the body names the source, and here it cannot be read.
    elsewhere: sending,
  },
  'a tenant of one endpoint': {
    fields: { scopes: ['query:logs.all'], project: 'a' },
    doors: asks,
    elsewhere: tailing,
  },
  'a tenant who asks': { fields: { scopes: ['query'], project: 'a' }, doors: asks },
  'a tenant who sends': { fields: { scopes: ['ingest'], project: 'a' }, doors: sends },
}

export function routeMatrix(running: () => RunningService): void {
  describe('every route and every caller', () => {
    const tokens = new Map<string, string | undefined>()

    beforeAll(async () => {
      const { token: admin } = running().adminToken
      for (const [name, { fields }] of Object.entries(callers)) {
        if (fields) tokens.set(name, (await makeToken(running(), { ...fields, description: name })).token)
      }
      const revoked = (await ask(running(), admin, 'GET', '/api/access-tokens')).body.find(
        ({ description }: { description: string }) => description === 'a revoked token',
      )
      await ask(running(), admin, 'DELETE', `/api/access-tokens/${revoked.id}`)
      tokens.set('admin', admin)
      tokens.set('a wrong token', `wh_${'0'.repeat(38)}`)
    })

    test('the routes are those that are expected, each with its door', () => {
      const there = running().http.routeList.map(({ method, path, access }) => `${method} ${path} ${access}`)
      const expected = Object.entries(routes).map(([route, { access }]) => `${route} ${access}`)
      expect(there.toSorted()).toEqual(expected.toSorted())
    })

    test.each(Object.entries(callers))('%s gets in where it may, and nowhere else', async (name, caller) => {
      const answers: Record<string, number> = {}
      const expected: Record<string, number> = {}
      for (const [route, { access, at, body, inside }] of Object.entries(routes)) {
        const [method, path] = route.split(' ') as [string, string]
        const outcome = caller.elsewhere?.includes(route) ? 403 : caller.doors[access]
        const address =
          at === undefined ? path : at.startsWith('/console') ? at : path.replace(/\/:reference$/, '') + at
        for (const sent of method === 'GET' ? ['GET', 'HEAD'] : [method]) {
          const cell = `${sent} ${path}`
          const answer = await ask(running(), tokens.get(name), sent, address.replace(/:\w+/g, nobody), body)
          answers[cell] = answer.status
          expected[cell] = outcome === 'in' ? inside : outcome
        }
      }
      expect(answers).toEqual(expected)
    })

    test.each(Object.entries(callers))('%s learns nothing from where nothing is', async (name, { doors }) => {
      const status = async (method: string, path: string) =>
        (await ask(running(), tokens.get(name), method, path)).status
      const inside = doors.any === 'in'
      for (const path of ['/api', '/api/nothing', '/v1/traces', '/metrics/x']) {
        expect([path, await status('GET', path)]).toEqual([path, inside ? 404 : 401])
      }
      expect(await status('DELETE', '/api/endpoints')).toBe(inside ? 405 : 401)
      expect(await status('GET', '/nowhere')).toBe(404)
    })
  })
}
