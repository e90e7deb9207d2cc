import { beforeAll, describe, expect, test } from 'vitest'
import type { RouteAccess } from '../../../src/http/route-access.ts'
import { ask, makeToken } from '../../support/callers.ts'
import type { RunningService } from '../../support/service.ts'

const nobody = '00000000-0000-4000-8000-000000000000'

interface Expected {
  access: RouteAccess
  /** Address or suffix, if the path itself is not enough. */
  at?: string
  body?: unknown
  /** Status for a permitted caller. The requests name nothing that exists, and their bodies are invalid. */
  inside: number
}

/** Every route and the access that it needs. The test fails for a route that is missing here. */
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

type Outcome = 'permitted' | 401 | 403
type Permissions = Record<RouteAccess, Outcome>

const unauthorized: Permissions = {
  public: 'permitted',
  optional: 401,
  any: 401,
  query: 401,
  ingest: 401,
  admin: 401,
}
const querier: Permissions = {
  public: 'permitted',
  optional: 'permitted',
  any: 'permitted',
  query: 'permitted',
  ingest: 403,
  admin: 403,
}
const sender: Permissions = { ...querier, query: 403, ingest: 'permitted' }

interface CallerKind {
  /** Fields of its token; no token is created without them. */
  fields?: Record<string, unknown>
  permissions: Permissions
  /** Routes that are refused because the scope names another endpoint or source. */
  refused?: readonly string[]
}

const sending = ['POST /api/logs', 'POST /logs']
const asking = ['GET /api/endpoints/query/:reference', 'POST /api/endpoints/query/:reference']

/** Only admins and tenants may read raw entries, because nothing limits what other tokens would see. */
const tailing = ['GET /api/sources/:name/tail']

const callers: Record<string, CallerKind> = {
  'no token': { permissions: { ...unauthorized, optional: 'permitted' } },
  'a wrong token': { permissions: unauthorized },
  'a revoked token': { fields: { scopes: ['query', 'ingest'] }, permissions: unauthorized },
  admin: {
    permissions: {
      public: 'permitted',
      optional: 'permitted',
      any: 'permitted',
      query: 'permitted',
      ingest: 'permitted',
      admin: 'permitted',
    },
  },
  query: { fields: { scopes: ['query'] }, permissions: querier, refused: tailing },
  'query:<the endpoint>': { fields: { scopes: ['query:logs.all'] }, permissions: querier, refused: tailing },
  'query:<another endpoint>': {
    fields: { scopes: ['query:greet'] },
    permissions: querier,
    refused: [...asking, ...tailing],
  },
  ingest: { fields: { scopes: ['ingest'] }, permissions: sender },
  'ingest:<the source>': { fields: { scopes: ['ingest:edge_logs'] }, permissions: sender },
  'ingest:<another source>': {
    fields: { scopes: ['ingest:auth_logs'] },
    permissions: sender,
    // Not OTLP: its body names the source, and this body is invalid.
    refused: sending,
  },
  'a tenant of one endpoint': {
    fields: { scopes: ['query:logs.all'], project: 'a' },
    permissions: querier,
    refused: tailing,
  },
  'a tenant with scope query': { fields: { scopes: ['query'], project: 'a' }, permissions: querier },
  'a tenant with scope ingest': { fields: { scopes: ['ingest'], project: 'a' }, permissions: sender },
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

    test('the routes and their required access are as expected', () => {
      const actual = running().http.routeList.map(({ method, path, access }) => `${method} ${path} ${access}`)
      const expected = Object.entries(routes).map(([route, { access }]) => `${route} ${access}`)
      expect(actual.toSorted()).toEqual(expected.toSorted())
    })

    test.each(Object.entries(callers))('%s: each route returns the expected status', async (name, caller) => {
      const statuses: Record<string, number> = {}
      const expected: Record<string, number> = {}
      for (const [route, { access, at, body, inside }] of Object.entries(routes)) {
        const [method, path] = route.split(' ') as [string, string]
        const outcome = caller.refused?.includes(route) ? 403 : caller.permissions[access]
        const address =
          at === undefined ? path : at.startsWith('/console') ? at : path.replace(/\/:reference$/, '') + at
        for (const sent of method === 'GET' ? ['GET', 'HEAD'] : [method]) {
          const cell = `${sent} ${path}`
          const response = await ask(
            running(),
            tokens.get(name),
            sent,
            address.replace(/:\w+/g, nobody),
            body,
          )
          statuses[cell] = response.status
          expected[cell] = outcome === 'permitted' ? inside : outcome
        }
      }
      expect(statuses).toEqual(expected)
    })

    test.each(Object.entries(callers))('%s: unknown paths reveal nothing', async (name, { permissions }) => {
      const status = async (method: string, path: string) =>
        (await ask(running(), tokens.get(name), method, path)).status
      const inside = permissions.any === 'permitted'
      for (const path of ['/api', '/api/nothing', '/v1/traces', '/metrics/x']) {
        expect([path, await status('GET', path)]).toEqual([path, inside ? 404 : 401])
      }
      expect(await status('DELETE', '/api/endpoints')).toBe(inside ? 405 : 401)
      expect(await status('GET', '/nowhere')).toBe(404)
    })
  })
}
