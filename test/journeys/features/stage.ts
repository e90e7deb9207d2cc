import { expect } from 'vitest'
import { features } from '../../../src/features.ts'
import { ask } from '../../support/callers.ts'
import { freePort } from '../../support/network/free-port.ts'
import { CookieJar, clientId, clientSecret, openIssuer } from '../../support/network/issuer.ts'
import { openService, type RunningService } from '../../support/service.ts'

/** Features that a build can lack. The others guard data and rights. */
export const removableFeatures = [
  'alerts',
  'dashboards',
  'tables',
  'live',
  'people',
  'mcp',
  'backup',
  'replay',
  'console',
  'demo',
  'supabase',
] as const

export type Removable = (typeof removableFeatures)[number]

/** A service on a data directory that is started again and again, each time with other features. */
export async function featureStage(dataDir: string) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const issuer = await openIssuer(`${url}/auth/callback`)
  issuer.claims.ada = { name: 'Ada Lovelace', email: 'ada@example.com', groups: ['staff'] }
  const jar = new CookieJar()
  let linkSecret = ''
  let service: RunningService

  const admin = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    ask(service, service.adminToken.token, method, path, body, headers)
  const expectStatus = async (status: number, ...request: Parameters<typeof admin>) => {
    const response = await admin(...request)
    expect([request.slice(0, 2), response.status, response.body]).toEqual([
      request.slice(0, 2),
      status,
      response.body,
    ])
    return response.body
  }

  const open = async (missing: readonly string[], directory = dataDir) => {
    service = await openService({
      engine: 'embedded',
      dataDir: directory,
      features: features.filter(({ name }) => !missing.includes(name)),
      environment: {
        WELLHEAD_PORT: String(port),
        WELLHEAD_PUBLIC_URL: url,
        WELLHEAD_OIDC_ISSUER: issuer.url,
        WELLHEAD_OIDC_CLIENT_ID: clientId,
        WELLHEAD_OIDC_CLIENT_SECRET: clientSecret,
        WELLHEAD_OIDC_ROLES: 'viewer=staff',
      },
    })
    return service
  }

  const whoamiOfPerson = () =>
    ask(service, undefined, 'GET', '/api/whoami', undefined, { Cookie: jar.header(url), Origin: url })
  const openLink = () => ask(service, undefined, 'POST', `/shared/${linkSecret}/session`)

  /** Uses every feature that stores something. */
  async function fill(): Promise<void> {
    await expectStatus(201, 'POST', '/api/sources', { name: 'used_logs' })
    await expectStatus(200, 'POST', '/api/logs?source=used_logs', [{ project: 'blue', message: 'used' }])
    await expectStatus(201, 'POST', '/api/tables', { name: 'used_plans' })
    const csv = { 'Content-Type': 'text/csv' }
    await expectStatus(200, 'PUT', '/api/tables/used_plans/rows', 'project,plan\nblue,big\nred,small\n', csv)
    await expectStatus(201, 'POST', '/api/tables', { name: 'used_empty' })
    await expectStatus(201, 'POST', '/api/endpoints', {
      name: 'used.count',
      query: 'SELECT count() AS n FROM used_logs',
    })
    await expectStatus(201, 'POST', '/api/endpoints', {
      name: 'used.joined',
      query: 'SELECT plan, count() AS n FROM used_logs JOIN used_plans USING project GROUP BY plan',
    })
    const alert = { name: 'used-alert', endpoint: 'used.count', when: 'rows > 0', every_seconds: 5 }
    await expectStatus(201, 'POST', '/api/alerts', alert)
    await expectStatus(201, 'POST', '/api/dashboards', {
      name: 'used-board',
      rows: [{ items: [{ endpoint: 'used.count' }] }],
    })
    const link = await expectStatus(201, 'POST', '/api/dashboards/used-board/links', { all_projects: true })
    linkSecret = /\/shared\/([^/?#]+)/.exec(link.url)?.[1] as string
    await jar.follow(`${url}/auth/login?return_to=%2Fconsole%2Flogs`, `${url}/console`)
    expect((await whoamiOfPerson()).body).toMatchObject({ type: 'person', role: 'viewer' })
  }

  const isWhole: Partial<Record<Removable, () => Promise<void>>> = {
    async alerts() {
      const alert = await expectStatus(200, 'GET', '/api/alerts/used-alert')
      expect(alert).toMatchObject({
        endpoint: 'used.count',
        when: 'rows > 0',
        version: 1,
        updated_by: 'admin',
      })
    },
    async dashboards() {
      const dashboard = await expectStatus(200, 'GET', '/api/dashboards/used-board')
      expect(dashboard.rows[0].items[0]).toMatchObject({ endpoint: 'used.count' })
      expect((await openLink()).body).toMatchObject({ dashboard: dashboard.id })
    },
    async tables() {
      const rows = await expectStatus(200, 'GET', '/api/tables/used_plans/rows?_format=csv')
      expect(rows.trim().split('\n').sort()).toEqual(['"blue","big"', '"red","small"', 'project,plan'])
      const { result } = await expectStatus(200, 'GET', '/api/endpoints/query/used.joined')
      expect(result).toMatchObject([{ plan: 'big', n: 1 }])
      await expectStatus(200, 'GET', '/api/tables/used_empty')
    },
    async console() {
      await expectStatus(200, 'GET', '/')
      await expectStatus(200, 'GET', '/openapi.json')
    },
    async people() {
      expect((await whoamiOfPerson()).body).toMatchObject({ name: 'Ada Lovelace', role: 'viewer' })
      expect(await expectStatus(200, 'GET', '/api/people')).toMatchObject([{ email: 'ada@example.com' }])
    },
  }

  const isClosed: Record<Removable, () => Promise<void>> = {
    async alerts() {
      await expectStatus(404, 'GET', '/api/alerts')
      // Its source stays, and stays closed to senders.
      await expectStatus(403, 'POST', '/api/logs?source=alert_events', [{ message: 'forged' }])
      await expectStatus(200, 'POST', '/api/sources/alert_events/search', {})
      const body = await expectStatus(400, 'POST', '/api/deployments', { alerts: [{ name: 'a' }] })
      expect(body.error).toMatchObject({ message: expect.stringContaining('alerts') })
    },
    async dashboards() {
      await expectStatus(404, 'GET', '/api/dashboards')
      expect((await openLink()).status).toBe(404)
      await expectStatus(400, 'POST', '/api/deployments', { delete: { dashboards: ['used-board'] } })
    },
    async tables() {
      await expectStatus(404, 'GET', '/api/tables')
      for (const query of ['SELECT * FROM used_plans', 'SELECT * FROM used_empty']) {
        const { error } = await expectStatus(422, 'POST', '/api/sql', { query })
        expect(error.code).toBe('invalid_query')
      }
      const { error } = await expectStatus(422, 'GET', '/api/endpoints/query/used.joined')
      expect(error.message).toContain('used_plans')
      for (const name of ['used_plans', 'used_empty']) {
        const source = await expectStatus(409, 'POST', '/api/sources', { name })
        expect(source.error.message).toBe(`The name "${name}" is already taken by a table. Choose another.`)
        await expectStatus(409, 'POST', '/api/endpoints', { name, query: 'SELECT 1 AS n' })
      }
      await expectStatus(409, 'PATCH', '/api/sources/used_logs', { aliases: ['used_plans'] })
    },
    async live() {
      await expectStatus(404, 'GET', '/api/sources/used_logs/tail')
      const events = { Accept: 'text/event-stream' }
      const response = await admin('GET', '/api/endpoints/query/used.count', undefined, events)
      expect([response.status, response.headers.get('content-type')]).not.toEqual([
        200,
        expect.stringContaining('text/event-stream'),
      ])
    },
    async people() {
      expect((await whoamiOfPerson()).status).toBe(401)
      await expectStatus(404, 'GET', '/api/people')
      await expectStatus(404, 'GET', '/auth/login')
    },
    async mcp() {
      await expectStatus(404, 'POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' })
    },
    async backup() {
      await expectStatus(404, 'GET', '/api/backup')
    },
    async replay() {
      await expectStatus(404, 'POST', '/api/endpoints/used.count/replay', { endpoint: {} })
    },
    async console() {
      await expectStatus(404, 'GET', '/')
    },
    async demo() {},
    async supabase() {},
  }

  /** What a service is for: sending, searching, defining, calling, caching, and tokens. */
  async function coreJourney(): Promise<void> {
    await expectStatus(201, 'POST', '/api/sources', { name: 'core_logs' })
    const entries = [
      { project: 'blue', message: 'a needle' },
      { project: 'red', message: 'hay' },
    ]
    expect(await expectStatus(200, 'POST', '/api/logs?source=core_logs', entries)).toMatchObject({
      accepted: 2,
    })
    const found = await expectStatus(200, 'POST', '/api/sources/core_logs/search', { query: 'needle' })
    expect(found).toMatchObject([{ project: 'blue', event_message: 'a needle' }])

    const query = 'SELECT count() AS n FROM core_logs WHERE project = @project'
    const parameters = { project: { required: true } }
    const endpoint = { name: 'core.count', query, parameters, published: true, cache_seconds: 600 }
    await expectStatus(201, 'POST', '/api/endpoints', endpoint)
    const { id, token } = await expectStatus(201, 'POST', '/api/access-tokens', {
      scopes: ['query'],
      project: 'blue',
    })
    const call = () => ask(service, token, 'GET', '/api/endpoints/query/core.count')
    const outcomes = [await call(), await call()]
    expect(outcomes.map(({ body, headers }) => [body.result, headers.get('cache-status')])).toEqual([
      [[{ n: 1 }], expect.stringContaining('fwd=miss')],
      [[{ n: 1 }], expect.stringContaining('hit')],
    ])
    await expectStatus(200, 'PATCH', '/api/endpoints/core.count?breaking=true', {
      query: query.replace('count() AS n', 'count() + 1 AS n'),
    })
    expect((await call()).body.result).toEqual([{ n: 2 }])
    expect((await ask(service, token, 'GET', '/api/endpoints')).status).toBe(403)
    const signedIn = await ask(service, token, 'POST', '/auth/token', undefined, { Origin: url })
    expect(signedIn.status).toBe(204)
    const cookie = { Cookie: signedIn.headers.get('set-cookie')?.split(';')[0] ?? '', Origin: url }
    const asBrowser = (method: string, path: string) =>
      ask(service, undefined, method, path, undefined, cookie)
    expect((await asBrowser('GET', '/api/endpoints/query/core.count')).body.result).toEqual([{ n: 2 }])
    expect((await asBrowser('POST', '/auth/logout')).status).toBe(204)
    expect((await asBrowser('GET', '/api/endpoints/query/core.count')).status).toBe(401)
    expect(await expectStatus(200, 'GET', '/api/whoami')).toMatchObject({ admin: true })
    await expectStatus(204, 'DELETE', `/api/access-tokens/${id}`)
    expect((await call()).status).toBe(401)
    await expectStatus(204, 'DELETE', '/api/endpoints/core.count?breaking=true')
    await expectStatus(404, 'GET', '/api/endpoints/query/core.count?project=blue')
    await expectStatus(204, 'DELETE', '/api/sources/core_logs?confirm=core_logs&breaking=true')
    await expectStatus(200, 'GET', '/metrics')
  }

  return {
    open,
    fill,
    coreJourney,
    admin,
    service: () => service,
    /** The missing features are closed, and the others have all that they stored. */
    async checkFeatures(missing: readonly Removable[]) {
      for (const name of missing) await isClosed[name]()
      for (const name of removableFeatures) if (!missing.includes(name)) await isWhole[name]?.()
    },
    close: () => issuer.close(),
  }
}
