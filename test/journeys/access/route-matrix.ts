import { beforeAll, describe, expect, test } from 'vitest'
import type { RouteAccess } from '../../../src/core/http/route-access.ts'
import type { ListedRoute } from '../../../src/core/http/routes/route.ts'
import { ask, makeToken } from '../../support/callers.ts'
import type { RunningService } from '../../support/service.ts'

const nobody = '00000000-0000-4000-8000-000000000000'

interface Expected {
  /** Request target, if that is not the path itself. */
  target?: string
  body?: unknown
  /** Status for a caller who has access. No resource of these requests exists, and no body is valid. */
  status?: number
}

/** Requests that differ from the usual one. docs/reference/api.md lists the access of each route. */
const requests: Record<string, Expected> = {
  'GET /console/logo': { target: '/console/logo', status: 404 },
  'GET /console/:page': { target: '/console/tokens', status: 200 },
  'GET /console/:page/:name': { target: '/console/sources/edge_logs', status: 200 },
  'GET /embed/dashboards/:name': { status: 200 },
  'GET /shared/:secret': { status: 200 },
  'GET /embed/:name': { target: '/embed/logs.all', status: 200 },
  'POST /api/sources/:name/values': { body: { path: 'project' } },
  'POST /api/search': { status: 200 },
  'GET /api/endpoints/query/:reference': {
    target: '/api/endpoints/query/logs.all?_format=none',
    status: 406,
  },
  'POST /api/endpoints/query/:reference': {
    target: '/api/endpoints/query/logs.all',
    body: { _format: 'none' },
    status: 406,
  },
  'POST /api/logs': { target: '/api/logs?source=edge_logs', body: 'no JSON' },
  'POST /logs': { target: '/logs?source=edge_logs', body: 'no JSON' },
  'POST /v1/logs': { body: 'no JSON' },
  'POST /api/endpoints/:reference/versions/:version/restore': { status: 400 },
  'POST /api/alerts/:reference/versions/:version/restore': { status: 400 },
  'POST /api/dashboards/:reference/versions/:version/restore': { status: 400 },
  'POST /api/sources/:reference/versions/:version/restore': { status: 400 },
  'POST /api/alerts/:reference/groups/:id/mute': { status: 400 },
  'POST /api/plans/:reference/versions/:version/restore': { status: 400 },
  'PUT /api/projects/:project': { status: 400 },
  'POST /api/tables/:reference/versions/:version/restore': { status: 400 },
  // An empty one changes nothing.
  'POST /api/deployments': { status: 200 },
  // Every token can create sessions of itself.
  'POST /api/access-tokens/:id/session': {
    target: '/api/access-tokens/self/session',
    body: { minutes: 0 },
    status: 400,
  },
  // This service does not record requests.
  'GET /api/requests': { status: 404 },
  'GET /api/slow': { status: 404 },
  'POST /auth/token': { status: 204 },
  'POST /auth/logout': { status: 204 },
  'GET /auth/login': { status: 404 },
  'GET /auth/callback': { status: 404 },
  'GET /api/backup': { target: '/api/backup?_format=none', status: 406 },
}

function requestOf({ method, path }: ListedRoute): Required<Expected> {
  const usualStatus = path.includes('/:') ? 404 : method === 'GET' ? 200 : 400
  const { target = path, body, status = usualStatus } = requests[`${method} ${path}`] ?? {}
  const usualBody = method === 'GET' || method === 'DELETE' ? undefined : {}
  return { target: target.replace(/:\w+/g, nobody), body: body ?? usualBody, status }
}

type Outcome = 'allowed' | 401 | 403
type Outcomes = Record<RouteAccess, Outcome>

const noAccess: Outcomes = {
  ...{ public: 'allowed', optional: 401, any: 401, query: 401, search: 401, 'query or search': 401 },
  call: 401,
  ...{ ingest: 401, read: 401, edit: 401, deploy: 401, admin: 401 },
}
const noScope: Outcomes = {
  ...{ public: 'allowed', optional: 'allowed', any: 'allowed' },
  ...{ query: 403, search: 403, 'query or search': 403, call: 403 },
  ...{ ingest: 403, read: 403, edit: 403, deploy: 403, admin: 403 },
}
const querying: Outcomes = {
  ...noScope,
  ...{ query: 'allowed', 'query or search': 'allowed', call: 'allowed' },
}
const searching: Outcomes = { ...noScope, search: 'allowed', 'query or search': 'allowed' }
const reading: Outcomes = { ...querying, search: 'allowed', read: 'allowed' }
const editing: Outcomes = { ...reading, edit: 'allowed' }
const deploying: Outcomes = { ...editing, deploy: 'allowed' }
const ingesting: Outcomes = { ...noScope, ingest: 'allowed' }

/** Of a browser: what a cookie allows depends on the page that sends it. */
const ownPage = (url: string) => ({ Origin: url, 'Sec-Fetch-Site': 'same-origin' })
const otherPage = () => ({ Origin: 'https://other.example.com' })

interface CallerKind {
  /** Fields of its token. Undefined: no token is created. */
  fields?: Record<string, unknown>
  outcomes: Outcomes
  /** Sends the cookie of an admin with these headers instead of a token. */
  page?: (url: string) => Record<string, string>
  /** Its requests arrive over a connection. Those of the others begin where a connection has been read. */
  isConnected?: boolean
  /** Routes that refuse it although its scope matches: the endpoint or source is another one. */
  refused?: readonly string[]
}

const logRoutes = ['POST /api/logs', 'POST /logs']
const queryRoutes = ['GET /api/endpoints/query/:reference', 'POST /api/endpoints/query/:reference']

/** Tokens with a project see their own one, which no request names. */
const projectRoutes = ['GET /api/projects/:project']
/** Without a project, usage is for those who may see all projects. */
const usageRoutes = ['GET /api/project-usage', ...projectRoutes]
/** Routes of one source, which a scope for another source does not open. */
const sourceRoutes = [
  ...['search', 'histogram', 'values', 'facets', 'export', 'search-sql'].map(
    (one) => `POST /api/sources/:name/${one}`,
  ),
  ...['tail', 'recent', 'list-columns', 'entries/:id', 'entries/:id/context'].map(
    (one) => `GET /api/sources/:name/${one}`,
  ),
]

const callers: Record<string, CallerKind> = {
  'no token': { outcomes: { ...noAccess, optional: 'allowed' }, isConnected: true },
  'a wrong token': { outcomes: noAccess },
  'a revoked token': { fields: { scopes: ['query', 'ingest'] }, outcomes: noAccess },
  admin: { outcomes: { ...deploying, ingest: 'allowed', admin: 'allowed' } },
  'a cookie of an admin': { page: ownPage, outcomes: { ...deploying, ingest: 'allowed', admin: 'allowed' } },
  'a cookie of an admin, on a page of another site': {
    page: otherPage,
    outcomes: { ...deploying, ingest: 'allowed', admin: 'allowed' },
  },
  'a cookie of an admin, without a page': {
    page: () => ({}),
    outcomes: { ...deploying, ingest: 'allowed', admin: 'allowed' },
  },
  deploy: { fields: { scopes: ['deploy'] }, outcomes: deploying },
  edit: { fields: { scopes: ['edit'] }, outcomes: editing },
  read: { fields: { scopes: ['read'] }, outcomes: reading, isConnected: true },
  query: { fields: { scopes: ['query'] }, outcomes: querying, refused: usageRoutes },
  'query:<the endpoint>': {
    fields: { scopes: ['query:logs.all'] },
    outcomes: querying,
    refused: usageRoutes,
  },
  'dashboard:<another dashboard>': {
    fields: { scopes: ['dashboard:traffic'] },
    outcomes: { ...noScope, call: 'allowed' },
    refused: queryRoutes,
  },
  search: { fields: { scopes: ['search'] }, outcomes: searching, refused: usageRoutes },
  // Only endpoints enforce fixed parameters.
  'search with a fixed parameter': {
    fields: { scopes: ['search'], parameters: { project_tier: 'FREE' } },
    outcomes: noScope,
  },
  'query:<another endpoint>': {
    fields: { scopes: ['query:greet'] },
    outcomes: querying,
    refused: [...queryRoutes, ...usageRoutes],
  },
  ingest: { fields: { scopes: ['ingest'] }, outcomes: ingesting },
  'ingest:<the source>': { fields: { scopes: ['ingest:edge_logs'] }, outcomes: ingesting },
  'ingest:<another source>': {
    fields: { scopes: ['ingest:auth_logs'] },
    outcomes: ingesting,
    // In OTLP the body names the source, and this body is invalid.
    refused: logRoutes,
  },
  'query:<the endpoint> with a project': {
    fields: { scopes: ['query:logs.all'], project: 'a' },
    outcomes: querying,
    refused: projectRoutes,
  },
  'query with a project': {
    fields: { scopes: ['query'], project: 'a' },
    outcomes: querying,
    refused: projectRoutes,
  },
  'search with a project': {
    fields: { scopes: ['search'], project: 'a' },
    outcomes: searching,
    refused: projectRoutes,
  },
  'search:<another source>': {
    fields: { scopes: ['search:auth_logs'] },
    outcomes: searching,
    refused: [...sourceRoutes, ...usageRoutes],
  },
  'search:<another source> with a project': {
    fields: { scopes: ['search:auth_logs'], project: 'a' },
    outcomes: searching,
    refused: [...sourceRoutes, ...projectRoutes],
  },
  'ingest with a project': {
    fields: { scopes: ['ingest'], project: 'a' },
    outcomes: ingesting,
  },
}

export function routeMatrix(running: () => RunningService): void {
  describe('every route and every caller', () => {
    const tokens = new Map<string, string | undefined>()
    let cookie: string

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
      const signedIn = await ask(running(), admin, 'POST', '/auth/token')
      cookie = /^wellhead=[^;]+/.exec(signedIn.headers.get('set-cookie') ?? '')?.[0] as string
      tokens.set('a wrong token', `wh_${'0'.repeat(38)}`)
    })

    async function send(
      { isConnected = false }: CallerKind,
      token: string | undefined,
      method: string,
      url: string,
      body: unknown,
      more: Record<string, string> = {},
    ): Promise<{ status: number; vary: string }> {
      if (isConnected) {
        const { status, headers } = await ask(running(), token, method, url, body, more)
        return { status, vary: headers.get('vary') ?? '' }
      }
      const payload = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
      const { statusCode, headers } = await running().http.inject({
        method: method as 'GET',
        url,
        headers: {
          host: new URL(running().url).host,
          ...(token !== undefined && { 'X-API-KEY': token }),
          ...(payload !== undefined && { 'Content-Type': 'application/json' }),
          ...more,
        },
        ...(payload !== undefined && { payload }),
      })
      return { status: statusCode, vary: String(headers.vary ?? '') }
    }

    test.each(Object.entries(callers))(
      '%s has access only where its scopes allow it',
      async (name, caller) => {
        const answers: Record<string, [number, boolean]> = {}
        const expected: Record<string, [number, boolean]> = {}
        for (const route of running().http.routeList) {
          const { method, path, access } = route
          const { target, body, status } = requestOf(route)
          const headers: Record<string, string> | undefined = caller.page && {
            ...caller.page(running().url),
            Cookie: cookie,
          }
          const isForeign =
            headers &&
            headers.Origin !== running().url &&
            // A link of another site must not start a backup.
            (method !== 'GET' || path === '/api/backup') &&
            access !== 'public'
          const isRefused = isForeign || caller.refused?.includes(`${method} ${path}`)
          const outcome = isRefused ? 403 : caller.outcomes[access]
          // It would end the cookie of the others.
          if (caller.page === ownPage && path === '/auth/logout') continue
          for (const sent of method === 'GET' ? ['GET', 'HEAD'] : [method]) {
            const cell = `${sent} ${path}`
            const { status: answered, vary } = await send(
              caller,
              tokens.get(name),
              sent,
              target,
              body,
              headers,
            )
            // A cache of a browser or proxy must not send a response to another token.
            answers[cell] = [answered, /\bX-API-KEY, Authorization, Cookie\b/.test(vary)]
            expected[cell] = [outcome === 'allowed' ? status : outcome, access !== 'public']
          }
        }
        expect(answers).toEqual(expected)
      },
    )

    test.each(Object.entries(callers))(
      '%s learns nothing from paths without a route',
      async (name, { outcomes, page }) => {
        const headers = page && { ...ownPage(running().url), Cookie: cookie }
        const status = async (method: string, path: string) =>
          (await ask(running(), tokens.get(name), method, path, undefined, headers)).status
        const allowed = outcomes.any === 'allowed'
        for (const path of ['/api', '/api/nothing', '/v1/traces', '/metrics/x']) {
          expect([path, await status('GET', path)]).toEqual([path, allowed ? 404 : 401])
        }
        expect(await status('DELETE', '/api/endpoints')).toBe(allowed ? 405 : 401)
        expect(await status('GET', '/nowhere')).toBe(404)
      },
    )
  })
}
