import { describe, expect, test } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import { CookieJar } from '../../support/network/issuer.ts'
import type { PeopleStage } from './stage.ts'

export function auditJourneys(stage: PeopleStage): void {
  const { who, login, send, comeBack } = stage

  describe('the audit', () => {
    const admin = (method: string, path: string, body?: unknown) =>
      ask(stage.service, stage.service.adminToken.token, method, path, body)
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
      const removal = { delete: { endpoints: ['by.mary'] }, note: 'not used' }
      await send(jar, 'POST', '/api/deployments', removal)
      await jar.send(`${stage.service.url}/auth/logout`, {
        method: 'POST',
        headers: { Origin: stage.service.url },
      })
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
      const [deleted] = await entries('action:endpoint.delete target:by.mary')
      expect(deleted?.metadata.note).toBe('not used')
      expect((await admin('GET', '/api/whoami')).body.name).toBe('admin token')
      const { id, token } = await makeToken(stage.service, { scopes: ['query'], description: 'board' })
      expect((await ask(stage.service, token, 'GET', '/api/whoami')).body.name).toBe('board')
      await ask(stage.service, token, 'POST', '/auth/token')
      await ask(stage.service, 'wh_wrong', 'POST', '/auth/token')
      await admin('DELETE', `/api/access-tokens/${id}`)
      await expect
        .poll(() => acts(`target_id:${id} OR action:token.sign_in*`))
        .toEqual(
          expect.arrayContaining([
            'admin token token.create board',
            'board token.sign_in board',
            ' token.sign_in_refused ',
            'admin token token.delete board',
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
      const { host } = new URL(stage.service.url)
      const from = async (method: 'GET' | 'POST', url: string, cookie = '') => {
        const headers = { cookie, host }
        return stage.service.http.inject({ method, url, headers, remoteAddress: '203.0.113.50' })
      }
      await from('GET', '/auth/callback?code=x&state=y')
      expect((await from('POST', '/auth/token')).statusCode).toBe(401)
      const jar = new CookieJar()
      const state = new URL(await comeBack(jar)).searchParams.get('state')
      const iss = encodeURIComponent(stage.issuer.url)
      const denied = `/auth/callback?error=access_denied&state=${state}&iss=${iss}`
      expect((await from('GET', denied, jar.header(stage.service.url))).statusCode).toBe(403)
      await expect
        .poll(async () => (await entries('address:203.0.113.50')).map(({ metadata }) => metadata))
        .toMatchObject([{ action: 'person.sign_in_refused', actor: { name: '' }, count: 1 }])
    })

    test('counts sign-ins that are refused again, and stores nothing else for them', async () => {
      who({ groups: ['staff'], name: 'Rosa' }, 'rosa')
      await login(new CookieJar())
      who({ groups: [], name: 'Rosa' }, 'rosa')
      for (let times = 0; times < 3; times++) await login(new CookieJar())
      const found = async () => {
        const refused = (await entries('action:person.sign_in_refused')).filter(
          ({ metadata }) => metadata.actor.name === 'Rosa',
        )
        const changes = refused.filter(({ metadata }) => metadata.version !== undefined)
        const again = refused.map(({ metadata }) => Number(metadata.count ?? 0))
        return [changes.length, again.reduce((sum, count) => sum + count, 0)]
      }
      await expect.poll(found).toEqual([1, 2])
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
      const dashboard = { name: 'audit-board', rows: [{ items: [{ endpoint: 'audit.all' }] }] }
      const callers = [
        await makeToken(stage.service, { scopes: ['edit'] }),
        await makeToken(stage.service, { scopes: ['read'] }),
        await makeToken(stage.service, { scopes: ['query', 'search'] }),
        await makeToken(stage.service, { scopes: ['query', 'search'], project: 'blue' }),
      ]
      for (const [index, { token }] of callers.entries()) {
        const status = async (method: string, path: string, body?: unknown) =>
          (await ask(stage.service, token, method, path, body)).status
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
          await status('POST', '/api/endpoints/check', { query: sql, source: 'edge_logs' }),
          await status('POST', '/api/endpoints/preview', { endpoint: { query: sql } }),
          await status('POST', '/api/endpoints/audit.old/replay', { endpoint: { query: sql } }),
          await status('POST', '/api/endpoints', { name: 'audit.mine', query: sql }),
          await status('POST', '/api/endpoints/audit.old/versions/1/restore?breaking=true'),
          await status('POST', '/api/deployments', { endpoints: [{ name: 'audit.mine', query: sql }] }),
          await status('POST', '/api/searches', { name: 'mine', source: 'audit_events' }),
        ]
        expect([index, answers]).toEqual([index, answers.map(() => 403)])
        const calls = [
          await status('GET', '/api/endpoints/query/audit.all'),
          await status('GET', '/api/endpoints/query/audit.box?sql=SELECT+*+FROM+a'),
          await status('GET', '/api/endpoints/query/audit.old?_version=1'),
          await status('POST', '/api/endpoints/audit.all/replay', { endpoint: {}, show_values: true }),
        ]
        expect([index, calls.every((one) => one === 403 || one === 404)]).toEqual([index, true])
        const used = [
          await status('POST', '/api/alerts', alert),
          await status('POST', '/api/alerts/preview', alert),
          await status('POST', '/api/dashboards', dashboard),
        ]
        expect([index, used.every((one) => one === 403 || one === 400)]).toEqual([index, true])
        const { body } = await ask(stage.service, token, 'GET', '/api/whoami')
        expect(JSON.stringify(body)).not.toMatch(/audit_events|audit\.all|audit\.box/)
        const found = await ask(stage.service, token, 'POST', '/api/search', { query: '' })
        expect([found.status, JSON.stringify(found.body)]).toEqual([
          200,
          expect.not.stringContaining('person.sign'),
        ])
        expect(
          (await ask(stage.service, token, 'POST', '/api/search', { sources: ['audit_events'] })).status,
        ).toBe(403)
        const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/call' }
        for (const [name, input] of [
          ['search_logs', { source: 'audit_events' }],
          ['describe_source', { source: 'audit_events' }],
          ['audit_all', {}],
        ] as const) {
          const call = { ...rpc, params: { name, arguments: input } }
          const told = await ask(stage.service, token, 'POST', '/mcp', call, {
            Accept: 'application/json, text/event-stream',
          })
          expect(JSON.stringify(told.body)).not.toContain('person.sign_in')
        }
      }
      expect((await admin('POST', '/api/alerts', alert)).status).toBe(201)
    })

    test('what reads it is seen, changed and removed by admins alone', async () => {
      const query = 'SELECT count() AS secret_count FROM audit_events'
      const created = async (folder: string, body: object) => {
        const { status, body: made } = await admin('POST', `/api/${folder}`, body)
        expect([folder, status]).toEqual([folder, 201])
        return made as { id: string; version: number }
      }
      const endpoint = await created('endpoints', { name: 'own.audit', query, cache_seconds: 60 })
      const alert = await created('alerts', {
        ...{ name: 'own-audit', endpoint: 'own.audit', when: 'any(secret_count) > 0', every_seconds: 5 },
        notify: [],
      })
      const items = [{ endpoint: endpoint.id, chart: 'table', y: ['secret_count'] }]
      const dashboard = await created('dashboards', { name: 'own-audit', rows: [{ items }] })
      const search = await created('searches', { name: 'own', source: 'audit_events', query: 'action:x' })
      await created('endpoints', { name: 'was.audit', query })
      await admin('PATCH', '/api/endpoints/was.audit?breaking=true', { query: 'SELECT 1 AS n' })
      await admin('GET', '/api/endpoints/query/own.audit')
      await expect.poll(async () => (await admin('GET', '/api/alerts/own-audit')).body.state).toBe('firing')
      const events = { query: `alert_id:"${alert.id}" kind:state` }
      const changes = async () => (await admin('POST', '/api/sources/alert_events/search', events)).body
      await expect.poll(changes).toMatchObject([{ metadata: { state: 'firing' } }])

      const callers = {
        deploy: await makeToken(stage.service, { scopes: ['deploy'] }),
        edit: await makeToken(stage.service, { scopes: ['edit'] }),
        read: await makeToken(stage.service, { scopes: ['read'] }),
        board: await makeToken(stage.service, { scopes: ['dashboard:own-audit', 'query', 'search'] }),
      }
      for (const [scope, { token }] of Object.entries(callers)) {
        const send = (method: string, path: string, body?: unknown) =>
          ask(stage.service, token, method, path, body)
        const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_alerts' } }
        const accept = { Accept: 'application/json, text/event-stream' }
        const seen = await Promise.all([
          ...['endpoints', 'alerts', 'dashboards', 'searches', 'sources', 'cache'].map((folder) =>
            send('GET', `/api/${folder}`),
          ),
          send('GET', '/api/endpoints/was.audit/versions'),
          send('GET', '/openapi.json'),
          send('GET', '/api/endpoints/own.audi'),
          send('POST', '/api/sources/alert_events/search', events),
          ask(
            stage.service,
            token,
            'POST',
            '/mcp',
            { ...rpc, params: { ...rpc.params, arguments: {} } },
            accept,
          ),
        ])
        const told = JSON.stringify(seen.map(({ body }) => body))
        expect([scope, told]).toEqual([
          scope,
          expect.not.stringMatching(
            /own\.audit|secret_count|FROM audit_events|"source":"audit_events"|"value":[1-9]/,
          ),
        ])
        const paths = [
          ...['', '/versions', '/paths', '/cache', '/slow'].map((path) => `endpoints/own.audit${path}`),
          ...['alerts/own-audit', 'alerts/own-audit/versions', `alerts/${alert.id}`],
          ...['dashboards/own-audit', 'dashboards/own-audit/versions', 'dashboards/own-audit/links'],
          'sources/audit_events',
        ]
        for (const path of paths) {
          const { status } = await send('GET', `/api/${path}`)
          expect([scope, path, status]).toEqual([scope, path, expect.toBeOneOf([403, 404])])
        }
        const attempts: [string, string, unknown?][] = [
          ['DELETE', 'alerts/own-audit'],
          ['PATCH', 'alerts/own-audit', { enabled: false }],
          ['PATCH', 'alerts/own-audit', { endpoint: 'was.audit', when: 'rows > 5' }],
          ['POST', 'alerts/own-audit/test'],
          ['POST', 'alerts/own-audit/versions/1/restore'],
          ['DELETE', 'dashboards/own-audit'],
          ['PUT', 'dashboards/own-audit', { name: 'own-audit', rows: [] }],
          ['POST', 'dashboards/own-audit/links', { all_projects: true }],
          ['PATCH', 'endpoints/own.audit?breaking=true', { query: 'SELECT 1 AS secret_count' }],
          ['PATCH', 'endpoints/own.audit', { description: 'mine' }],
          ['PUT', 'endpoints/own.audit?breaking=true', { name: 'own.audit', query: 'SELECT 1 AS n' }],
          ['DELETE', 'endpoints/own.audit'],
          ['DELETE', 'endpoints/own.audit/cache'],
          ['DELETE', `searches/${search.id}`],
          ['PATCH', 'sources/audit_events', { retention_days: 1 }],
          [
            'POST',
            'deployments',
            { alerts: [{ name: 'own-audit', endpoint: 'was.audit', when: 'rows > 5' }] },
          ],
          ['POST', 'deployments', { dashboards: [{ name: 'own-audit', rows: [] }] }],
          ['POST', 'deployments', { endpoints: [{ name: 'own.audit', query: 'SELECT 1 AS n' }] }],
          ['POST', 'deployments', { endpoints: [{ id: endpoint.id, name: 'x', query: 'SELECT 1 AS n' }] }],
          ['POST', 'deployments', { sources: [{ name: 'audit_events', retention_days: 1 }] }],
          ['POST', 'deployments', { delete: { alerts: [alert.id] } }],
          ['POST', 'deployments', { delete: { dashboards: [dashboard.id], endpoints: ['own.audit'] } }],
        ]
        for (const [method, path, body] of attempts) {
          const { status } = await send(method, `/api/${path}`, body)
          expect([scope, method, path, body, status]).toEqual([
            ...[scope, method, path, body],
            expect.toBeOneOf([403, 404]),
          ])
        }
      }
      for (const path of ['endpoints/own.audit', 'alerts/own-audit', 'dashboards/own-audit']) {
        expect((await admin('GET', `/api/${path}`)).body.version).toBe(1)
      }
      expect((await admin('GET', '/api/endpoints/was.audit/versions')).body).toHaveLength(2)
      expect((await admin('GET', '/api/searches')).body).toMatchObject([{ id: search.id }])
      const deletion = {
        delete: { alerts: ['own-audit'], dashboards: ['own-audit'], endpoints: ['own.audit'] },
      }
      expect((await admin('POST', '/api/deployments', deletion)).status).toBe(200)
    })

    test('what reads it stays hidden from somebody who changes what it uses, and does not hinder them', async () => {
      const query = 'SELECT base.n AS secret_n FROM `used.base` AS base, audit_events LIMIT 1'
      await admin('POST', '/api/endpoints', { name: 'used.base', query: 'SELECT 1 AS n' })
      expect((await admin('POST', '/api/endpoints', { name: 'own.outer', query })).status).toBe(201)
      const { token } = await makeToken(stage.service, { scopes: ['edit'] })
      const send = (method: string, path: string, body?: unknown) =>
        ask(stage.service, token, method, `/api/${path}`, body)
      const endpoint = { name: 'used.base', query: "SELECT 'a' AS n" }
      const described = await send('PATCH', 'endpoints/used.base', { description: 'one' })
      const dry = await send('POST', 'deployments', {
        endpoints: [endpoint],
        ...{ dry_run: true, allow_breaking: true },
      })
      const lost = await send('PATCH', 'endpoints/used.base', { query: 'SELECT 1 AS other' })
      const deleted = await send('DELETE', 'endpoints/used.base')
      const taken = await send('POST', 'tables', { name: 'own.outer' })
      const attempts = [described, dry, lost, deleted, taken]
      expect(attempts.map(({ status }) => status)).toEqual([200, 200, 409, 409, 400])
      expect(dry.body.endpoints).toMatchObject([{ name: 'used.base', action: 'updated' }])
      expect(JSON.stringify([described, dry, lost, deleted])).not.toMatch(/own\.outer|secret_n|audit_events/)
      const changed = await send('PATCH', 'endpoints/used.base?breaking=true', endpoint)
      expect(changed.status).toBe(200)
      const { body } = await admin('GET', '/api/endpoints/own.outer')
      expect([body.version, body.columns]).toEqual([2, [{ name: 'secret_n', type: 'String' }]])
      await admin('POST', '/api/deployments', { delete: { endpoints: ['own.outer', 'used.base'] } })
    })
  })
}
