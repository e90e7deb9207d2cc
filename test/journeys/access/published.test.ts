import { describe, expect, test } from 'vitest'
import { ask, type JsonResponse, makeToken } from '../../support/callers.ts'
import { openEvents } from '../../support/network/event-reader.ts'
import type { RunningService } from '../../support/service.ts'
import { sharedService } from '../../support/shared-service.ts'

let service: RunningService
sharedService((shared) => {
  service = shared
})

const admin = (method: string, path: string, body?: unknown) =>
  ask(service, service.adminToken.token, method, path, body)
const call = (token: string, reference: string, headers?: Record<string, string>) =>
  ask(service, token, 'GET', `/api/endpoints/query/${reference}`, undefined, headers)

/** Saves an endpoint and returns its id. */
async function save(name: string, fields: object = {}): Promise<string> {
  const saved = await admin('POST', '/api/endpoints', {
    published: true,
    name,
    query: 'SELECT 1 AS n',
    ...fields,
  })
  expect([saved.status, saved.body.error]).toEqual([201, undefined])
  return saved.body.id
}

const setPublished = async (name: string, published: boolean) =>
  expect((await admin('PATCH', `/api/endpoints/${name}?breaking=true`, { published })).status).toBe(200)

const tenantToken = async (scopes = ['query']) =>
  (await makeToken(service, { scopes, project: 'blue' })).token

/** What a caller can compare: everything except the time and the name that was requested. */
function shown({ status, headers, body }: JsonResponse, reference: string) {
  const names = [...headers.keys()].filter((name) => name !== 'content-length')
  const { request_id: _, ...error } = body.error
  return JSON.stringify([status, names, error]).replaceAll(reference, '<name>')
}

describe('an unpublished endpoint', () => {
  test('does not exist for a token with a project, with any scope', async () => {
    const id = await save('unlisted.zq7kxw', { published: false, cache_seconds: 600 })
    // Fills the cache and the hot lane for the admin.
    for (let i = 0; i < 3; i++) {
      expect((await call(service.adminToken.token, 'unlisted.zq7kxw')).status).toBe(200)
    }
    for (const [scopes, status] of [
      [['query'], 404],
      [['query:unlisted.zq7kxw', 'query:logs.all'], 403],
      [['query:logs.all'], 403],
    ] as const) {
      const token = await tenantToken([...scopes])
      const nothing = 'nothing.of.this.name'
      const expected = shown(await call(token, nothing), nothing)
      expect(expected).toContain(`[${status},`)
      for (const reference of ['unlisted.zq7kxw', id, id.toUpperCase()]) {
        expect(shown(await call(token, reference), reference)).toBe(expected)
        for (const query of ['_version=1', '_version=7', '_format=none', '_strict=1&x=1', 'project=other']) {
          const refused = await call(token, `${reference}?${query}`)
          expect([query, shown(refused, reference)]).toEqual([query, expected])
        }
        const cacheOnly = await call(token, reference, { 'Cache-Control': 'only-if-cached' })
        expect(shown(cacheOnly, reference)).toBe(expected)
        const posted = await ask(service, token, 'POST', `/api/endpoints/query/${reference}`, {})
        expect(shown(posted, reference)).toBe(expected)
        const head = await ask(service, token, 'HEAD', `/api/endpoints/query/${reference}`)
        expect(head.status).toBe(status)
        const counted = await ask(service, token, 'GET', `/api/requests?endpoint=${reference}`)
        const uncounted = await ask(service, token, 'GET', `/api/requests?endpoint=${nothing}`)
        expect(shown(counted, reference)).toBe(shown(uncounted, nothing))
        const stream = await openEvents(`${service.url}/api/endpoints/query/${reference}`, token)
        expect(stream.status).toBe(status)
      }
    }
  })

  test('is neither listed nor suggested to a token with a project', async () => {
    await save('secret.totals', { published: false })
    await save('public.totals')
    const token = await tenantToken()
    expect((await call(token, 'secret.total')).body.error.message).not.toContain('secret.totals')
    expect((await call(token, 'public.total')).body.error.message).toContain('public.totals')
    const operator = (await makeToken(service, { scopes: ['query'] })).token
    expect((await call(operator, 'secret.total')).body.error.message).toContain('secret.totals')
    for (const path of ['/api/whoami', '/openapi.json']) {
      const texts = await Promise.all(
        [token, operator].map(async (each) => JSON.stringify((await ask(service, each, 'GET', path)).body)),
      )
      expect([path, ...texts.map((text) => text.includes('public.totals'))]).toEqual([path, true, true])
      expect([path, ...texts.map((text) => text.includes('secret.totals'))]).toEqual([path, false, true])
      expect(texts[0]).not.toContain('wellhead.top-callers')
    }
    const anonymous = await ask(service, undefined, 'GET', '/openapi.json')
    expect(JSON.stringify(anonymous.body).includes('.totals')).toBe(false)
  })

  test('is shown with the parameters that its SQL uses without a declaration, but not with fixed ones', async () => {
    const query = 'SELECT @project AS p, @status AS status, @limit AS most'
    await save('undeclared.parameters', { query, parameters: { limit: { description: 'The most.' } } })
    const { endpoints } = (await ask(service, await tenantToken(), 'GET', '/api/whoami')).body
    const shown = endpoints.find(({ name }: { name: string }) => name === 'undeclared.parameters')
    expect(Object.keys(shown.parameters).toSorted()).toEqual(['limit', 'status'])
  })

  test('can be called by admins and by tokens without a project', async () => {
    await save('internal', { published: false })
    for (const scopes of [['query'], ['query:internal'], ['admin']]) {
      expect((await call((await makeToken(service, { scopes })).token, 'internal')).status).toBe(200)
    }
  })

  test('ends streams and cached responses that tenants got while it was published', async () => {
    await save('watched', { cache_seconds: 600 })
    const token = await tenantToken()
    for (let i = 0; i < 3; i++) expect((await call(token, 'watched')).status).toBe(200)
    const stream = await openEvents(`${service.url}/api/endpoints/query/watched`, token)
    expect((await stream.next())?.event).toBe('result')
    const refused = await admin('PATCH', '/api/endpoints/watched', { published: false })
    expect(refused).toMatchObject({ status: 409, body: { error: { code: 'breaking_change' } } })
    expect(refused.body.error.changes).toMatchObject([{ kind: 'unpublished', breaking: true }])
    await setPublished('watched', false)
    expect(await stream.next()).toBeUndefined()
    expect((await call(token, 'watched')).status).toBe(404)
    // The version that was published does not exist for them either.
    expect((await call(token, 'watched?_version=1')).status).toBe(404)
    await setPublished('watched', true)
    expect((await call(token, 'watched')).status).toBe(200)
    // The newest version decides about all versions.
    expect((await call(token, 'watched?_version=2')).status).toBe(200)
  })

  test('is the default, and deployments without the field keep what is set', async () => {
    expect((await admin('GET', '/api/endpoints/wellhead.top-callers')).body.published).toBe(false)
    expect((await admin('GET', '/api/endpoints/logs.all')).body.published).toBe(true)
    const bare = { name: 'hidden.deployed', query: 'SELECT 1 AS n' }
    const deploy = (endpoint: object) => admin('POST', '/api/deployments', { endpoints: [endpoint] })
    expect((await deploy(bare)).body.endpoints[0].action).toBe('created')
    expect((await admin('GET', '/api/endpoints/hidden.deployed')).body.published).toBe(false)
    const published = await deploy({ ...bare, published: true })
    expect(published.body.endpoints[0].changes).toMatchObject([{ kind: 'published', breaking: false }])
    expect((await deploy(bare)).body.endpoints[0].action).toBe('unchanged')
    expect((await deploy({ ...bare, published: false })).status).toBe(409)
  })
})

describe('an unpublished source', () => {
  const openAt = '2026-11-01T00:00:00Z'
  const found = async (token: string, name: string) => {
    const { status, body } = await ask(service, token, 'POST', `/api/sources/${name}/search`, {
      from: openAt,
      to: '2099-01-01T00:00:00Z',
    })
    return status === 200 ? body.map(({ id }: { id: string }) => id) : status
  }
  const create = async (name: string, fields: object = {}) => {
    expect((await admin('POST', '/api/sources', { name, ...fields })).status).toBe(201)
    const entries = ['blue', 'green'].map((project) => ({
      id: `${name} of ${project}`,
      project,
      level: 'info',
    }))
    expect((await admin('POST', `/api/logs?source=${name}`, entries)).body.accepted).toBe(2)
  }
  const tool = async (token: string, name: string, input: object) => {
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } }
    const accepted = { Accept: 'application/json, text/event-stream' }
    return JSON.stringify((await ask(service, token, 'POST', '/mcp', call, accepted)).body)
  }
  /** Every way to whole entries. */
  const waysTo = (name: string) =>
    [
      ...['search', 'histogram', 'facets', 'export', 'search-sql'].map((way) => ['POST', way, {}] as const),
      ['POST', 'values', { path: 'level' }] as const,
      ...['tail', 'recent', 'list-columns'].map((way) => ['GET', way, undefined] as const),
      ['GET', `entries/${name}%20of%20blue`, undefined] as const,
      ['GET', `entries/${name}%20of%20blue/context`, undefined] as const,
    ].map(([method, way, body]) => [method, `/api/sources/${name}/${way}`, body] as const)

  test('does not exist for a token with a project, on any way, by name or alias', async () => {
    await create('hidden_zq7', { aliases: ['hidden.alias.zq7'], list_columns: ['level'] })
    for (const scopes of [
      ['search'],
      ['search:hidden_zq7', 'search:nothing_zq7', 'search:hidden.alias.zq7'],
    ]) {
      const token = await tenantToken(scopes)
      const nothing = waysTo('nothing_zq7')
      for (const name of ['hidden_zq7', 'hidden.alias.zq7']) {
        for (const [index, [method, path, body]] of waysTo(name).entries()) {
          const [, otherPath] = nothing[index] as (typeof nothing)[number]
          const expected = shown(await ask(service, token, method, otherPath, body), 'nothing_zq7')
          expect([path, expected]).toEqual([path, expect.stringContaining('[404,')])
          expect([path, shown(await ask(service, token, method, path, body), name)]).toEqual([path, expected])
        }
        for (const built of ['search_logs', 'describe_source']) {
          expect(await tool(token, built, { source: name })).toContain('source_not_found')
        }
        expect((await ask(service, token, 'POST', '/api/search', { sources: [name] })).status).toBe(404)
      }
      for (const text of [
        JSON.stringify((await ask(service, token, 'GET', '/api/whoami')).body),
        JSON.stringify((await ask(service, token, 'POST', '/api/search', { query: 'info' })).body),
        JSON.stringify((await ask(service, token, 'GET', '/api/sources/hidden_zq/recent')).body),
        await tool(token, 'list_sources', {}),
      ]) {
        expect(text).not.toContain('hidden_zq7')
      }
    }
  })

  test('is read by roles, and whole by tokens without a project whose scope names it', async () => {
    await create('whole_zq7')
    const both = ['whole_zq7 of blue', 'whole_zq7 of green']
    for (const scopes of [['read'], ['edit'], ['search'], ['search:whole_zq7']]) {
      const { token } = await makeToken(service, { scopes })
      expect([scopes, (await found(token, 'whole_zq7')).toSorted()]).toEqual([scopes, both])
    }
    const { token } = await makeToken(service, { scopes: ['search:whole_zq7'] })
    // The same for a source that does not exist.
    for (const name of ['edge_logs', 'nothing_zq7', 'audit_events'])
      expect(await found(token, name)).toBe(403)
    const { body: who } = await ask(service, token, 'GET', '/api/whoami')
    expect([who.logs, who.sources.map(({ name }: { name: string }) => name)]).toEqual([true, ['whole_zq7']])
    const session = (fields: object) =>
      ask(service, token, 'POST', '/api/access-tokens/self/session', { minutes: 5, ...fields })
    expect((await session({ scopes: ['search'] })).status).toBe(400)
    const { body: narrow } = await session({ project: 'blue' })
    expect(await found(narrow.token, 'whole_zq7')).toBe(404)
    const aliased = await makeToken(service, { scopes: ['search:cloudflare.logs.prod'] })
    expect(await found(aliased.token, 'edge_logs')).toBe(403)
  })

  test('is read by tenants once it is published, and no longer, also in streams, after that', async () => {
    await create('shown_zq7')
    const token = await tenantToken(['search:shown_zq7'])
    expect(await found(token, 'shown_zq7')).toBe(404)
    expect((await admin('PATCH', '/api/sources/shown_zq7', { published: true })).status).toBe(200)
    expect(await found(token, 'shown_zq7')).toEqual(['shown_zq7 of blue'])
    const stream = await openEvents(`${service.url}/api/sources/shown_zq7/tail`, token)
    expect(stream.status).toBe(200)
    const closing = {
      sources: [{ name: 'shown_zq7', published: false }],
      dry_run: true,
      allow_breaking: true,
    }
    const { body } = await admin('POST', '/api/deployments', closing)
    expect(body.sources[0].changes).toMatchObject([{ kind: 'unpublished', breaking: true }])
    expect((await admin('PATCH', '/api/sources/shown_zq7?breaking=true', { published: false })).status).toBe(
      200,
    )
    let event = await stream.next()
    while (event !== undefined) event = await stream.next()
    expect(await found(token, 'shown_zq7')).toBe(404)
  })

  test('stays what it is in deployments without the field, and is unpublished by PUT without it', async () => {
    await create('steady_zq7', { published: true })
    const deploy = (fields: object) =>
      admin('POST', '/api/deployments', { sources: [{ name: 'steady_zq7', ...fields }] })
    const isPublished = async (name: string) => (await admin('GET', `/api/sources/${name}`)).body.published
    expect((await deploy({})).body.sources[0].action).toBe('unchanged')
    expect((await deploy({ description: 'Steady.' })).body.sources[0].action).toBe('updated')
    expect(await isPublished('steady_zq7')).toBe(true)
    expect(await deploy({ published: false })).toMatchObject({
      status: 409,
      body: { error: { code: 'breaking_change', changes: [{ kind: 'unpublished' }] } },
    })
    const edge = { sources: [{ name: 'pgbouncer_logs', aliases: ['pgbouncer.logs.prod'] }], dry_run: true }
    expect(JSON.stringify((await admin('POST', '/api/deployments', edge)).body)).not.toContain('unpublished')
    // One definition is changed as it is sent, and the default hides entries.
    expect((await admin('PATCH', '/api/sources/steady_zq7', { description: '' })).body.published).toBe(true)
    expect((await admin('PUT', '/api/sources/steady_zq7', {})).body.published).toBe(false)
    expect((await admin('PATCH', '/api/sources/steady_zq7', { published: true })).body.published).toBe(true)
    const whole = { name: 'steady_zq7', published: false }
    expect((await admin('PUT', '/api/sources/steady_zq7', whole)).body.published).toBe(false)
  })

  test('is the default; the nine built-in sources of senders are published', async () => {
    const { body } = await admin('GET', '/api/sources')
    const published = body.filter((source: { published: boolean }) => source.published)
    expect(published.map(({ name }: { name: string }) => name)).toEqual(expect.arrayContaining(senders))
    const own = ['quarantine', 'otel_logs', 'endpoint_requests', 'alert_events', 'audit_events', 'hidden_zq7']
    const open = body.filter(
      ({ name, published }: { name: string; published: boolean }) => published && own.includes(name),
    )
    expect(open).toEqual([])
  })

  test('whoami names the sources that have entries, newest first, and the empty ones', async () => {
    const { token } = await makeToken(service, { scopes: ['search'], project: 'listing-zq7' })
    const who = async () => (await ask(service, token, 'GET', '/api/whoami')).body
    expect(await who()).toMatchObject({ sources: [], empty_sources: expect.arrayContaining(senders) })
    const at = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
    for (const [source, days] of [
      ['auth_logs', 40],
      ['edge_logs', 5],
      ['storage_logs', 0.5],
    ] as const) {
      await admin('POST', `/api/logs?source=${source}`, [{ project: 'listing-zq7', timestamp: at(days) }])
    }
    await admin('POST', '/api/logs?source=edge_logs', [{ project: 'listing-zq7', timestamp: 'never' }])
    const { sources, empty_sources } = await who()
    expect(sources.map(({ name }: { name: string }) => name)).toEqual([
      'storage_logs',
      'edge_logs',
      'auth_logs',
    ])
    expect(empty_sources).toEqual(expect.arrayContaining(['postgres_logs']))
    expect(JSON.stringify(sources) + empty_sources).not.toContain('quarantine')
  })
})

const senders = [
  'auth_logs',
  'edge_logs',
  'function_edge_logs',
  'function_logs',
  'pgbouncer_logs',
  'postgres_logs',
  'postgrest_logs',
  'realtime_logs',
  'storage_logs',
]
