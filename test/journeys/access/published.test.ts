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
