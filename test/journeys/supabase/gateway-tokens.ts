import { expect, test } from 'vitest'
import type { RunningService } from '../../support/service.ts'

interface Gateway {
  service: () => RunningService
  get: (path: string, token?: string) => Promise<Response>
  send: (path: string, token: string, body: unknown) => Promise<Response>
  publicToken: string
  window: Record<string, string>
}

/** What the tokens of the gateway may do, there and elsewhere. */
export function gatewayTokens({ service, get, send, publicToken, window }: Gateway): void {
  test('requires the private token for queries', async () => {
    const created = await service().call('/api/access-tokens', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ description: 'tenant', scopes: ['query'], project: 'default' }),
    })
    const { token: tenant } = (await created.json()) as { token: string }
    const callers = ['private', publicToken, 'wrong', '', service().adminToken.token, tenant]
    for (const path of [
      '/logflare/api/endpoints/query/logs.all?project=default&sql=select+1+as+n',
      '/logflare/api/endpoints/query/logs?project=default&sql=select+1+as+n',
      '/logflare/api/endpoints/query/service-health?project=default',
      '/logflare/api/sources',
    ]) {
      const statuses = await Promise.all(callers.map(async (token) => (await get(path, token)).status))
      expect([path, statuses]).toEqual([path, [200, 403, 401, 401, 401, 401]])
      expect((await fetch(service().url + path)).status).toBe(401)
    }
    const translations = callers.map(async (token) => {
      return (await send('/logflare/api/translate', token, { sql: 'select 1 as n' })).status
    })
    expect(await Promise.all(translations)).toEqual([403, 403, 401, 401, 200, 403])
  })

  test('gives sessions of its tokens at most the right to send', async () => {
    const bodies = [{}, { project: 'default' }, { scopes: ['ingest:edge_logs'], project: 'default' }]
    for (const token of ['private', publicToken]) {
      const create = (body: object) => send('/api/access-tokens/self/session', token, body)
      for (const scopes of [['query'], ['query:logs.all'], ['search'], ['admin'], ['ingest', 'query']]) {
        expect((await create({ scopes })).status).toBe(400)
      }
      for (const body of bodies) {
        const { token: session, scopes } = (await (await create(body)).json()) as {
          token: string
          scopes: string[]
        }
        expect(scopes.filter((scope) => !scope.startsWith('ingest'))).toEqual([])
        for (const path of [
          '/logflare/api/endpoints/query/logs.all?project=default&sql=select+1+as+n',
          '/logflare/api/endpoints/query/logs?project=other&sql=select+1+as+n',
          '/logflare/api/endpoints/query/service-health?project=default',
          '/logflare/api/sources',
          '/logflare/api/backends',
          '/api/endpoints/query/logs.all?project=default',
          '/api/sources',
        ]) {
          expect([path, (await get(path, session)).status]).toEqual([path, 403])
        }
        const sql = { sql: 'select 1 as n' }
        expect((await send('/logflare/api/endpoints/query/logs.all', session, sql)).status).toBe(403)
        expect((await send('/api/sources/edge_logs/search', session, {})).status).toBe(403)
        expect((await send('/api/logs?source=edge_logs', session, [])).status).toBe(200)
        const who = await (await get('/api/whoami', session)).json()
        expect(who).toMatchObject({ admin: false, query: false, logs: false, ingest: true, session: true })
      }
    }
  })

  test('takes the token from the URL for these tokens only, and only here', async () => {
    const status = async (path: string) =>
      (await fetch(service().url + path, { method: 'POST', body: '[]' })).status
    expect(
      await status(`/api/logs?source_name=postgres.logs&api_key=${encodeURIComponent(publicToken)}`),
    ).toBe(200)
    expect(await status('/logflare/api/logs?source_name=postgres.logs&api_key=private')).toBe(200)
    expect(await status('/api/logs?source_name=postgres.logs&api_key=wrong')).toBe(401)
    expect(await status(`/api/logs?source_name=postgres.logs&api_key=${service().adminToken.token}`)).toBe(
      401,
    )
    const query = '/logflare/api/endpoints/query/logs.all?project=default&sql=select+1+as+n&api_key=private'
    expect((await fetch(service().url + query)).status).toBe(200)
    for (const path of ['/api/sources', '/api/whoami']) {
      expect((await fetch(`${service().url}${path}?api_key=private`)).status).toBe(401)
    }
  })

  test('serves the paths of Logflare at the root, too, to the private token', async () => {
    const search = new URLSearchParams({ project: 'default', ...window, sql: 'select id from auth_logs' })
    for (const path of [
      `/api/endpoints/query/logs.all?${search}`,
      '/api/endpoints/query/service-health?project=default',
      '/api/backends?metadata%5Btype%5D=log-drain',
      '/api/sources',
      '/api/rules',
    ]) {
      const texts = [await get(path), await get(`/logflare${path}`)].map((response) => response.text())
      const [root, below] = await Promise.all(texts)
      expect([path, root]).toEqual([path, below])
      expect((await get(path, publicToken)).status).toBe(
        path.includes('/backends') || path.includes('/rules') ? 404 : 403,
      )
    }
    // For other tokens, nothing changes.
    const admin = service().adminToken.token
    expect(await (await get('/api/sources', admin)).json()).toContainEqual(
      expect.objectContaining({ name: 'path' }),
    )
    const saved = await get('/api/endpoints/query/logs.all?project=default&project_tier=FREE', admin)
    expect(Object.keys(((await saved.json()) as { result?: object[] }).result?.[0] ?? {})).toContain(
      'metadata',
    )
    expect((await get('/api/backends', admin)).status).toBe(404)
  })

  test('gives the tokens no other rights outside of the gateway than sending logs', async () => {
    for (const path of [
      '/api/endpoints',
      '/api/endpoints/logs.all',
      '/api/endpoints/query/logs.all/explain',
      '/api/sources/edge_logs',
      '/api/sources/edge_logs/schema',
      '/api/%73ources',
      '/api/access-tokens',
    ]) {
      expect([path, (await get(path)).status]).toEqual([path, expect.toBeOneOf([403, 404])])
    }
    const who = await (await get('/api/whoami')).json()
    expect(who).toMatchObject({ admin: false, query: false, ingest: true, bigquery: false, sources: [] })
  })
}
