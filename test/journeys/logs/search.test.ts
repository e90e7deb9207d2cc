import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import { logClient } from '../../support/log-client.ts'
import { openEvents } from '../../support/network/event-reader.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { onward } from './onward.ts'
import { savedSearches } from './saved-searches.ts'
import { searchAgreement } from './search-agreement.ts'
import { countingEntries } from './search-counts.ts'
import { pages } from './search-pages.ts'

const uuid = '0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b'
const path = '/api/sources/edge_logs'

let service: RunningService
let tenant: string
beforeAll(async () => {
  service = await openService()
  tenant = (await makeToken(service, { scopes: ['search'], project: 'a' })).token
  const sent = await logClient(() => service).send('edge_logs', JSON.stringify(entries))
  expect(sent.body).toMatchObject({ accepted: entries.length })
})
afterAll(() => service?.close())

const request = (status_code: number, more: object = {}) => ({
  request: { url: 'https://a.example.com/rest/v1/orders', path: '/rest/v1/orders', method: 'GET', ...more },
  response: { status_code },
})
const entries = [
  { id: 'ok', project: 'a', event_message: 'GET /rest/v1/orders', metadata: request(200) },
  { id: uuid, project: 'a', event_message: 'Slow GET', metadata: { ...request(504), region: 'eu' } },
  {
    id: 'missing',
    project: 'a',
    event_message: 'POST (failed)',
    metadata: { ...request(404, { path: '/auth/v1', method: 'POST' }), user: { 'e.mail': "o'x" } },
  },
  {
    id: 'none',
    project: 'b',
    event_message: "'; DROP TABLE x --",
    metadata: { secret: 'of b', region: 'us' },
  },
]

const admin = (method: string, target: string, body?: unknown) =>
  ask(service, service.adminToken.token, method, target, body)
async function search(query: string, token = service.adminToken.token): Promise<string[] | string> {
  const { status, body } = await ask(service, token, 'POST', `${path}/search`, { query })
  return status === 200 ? body.map(({ id }: { id: string }) => id).sort() : `${status} ${body.error.message}`
}
const histogram = async (body: object, token = service.adminToken.token) =>
  (await ask(service, token, 'POST', `${path}/histogram`, body)).body

describe('the search language', () => {
  test.each<[string, string[]]>([
    ['', [uuid, 'missing', 'none', 'ok']],
    ['get', [uuid, 'ok']],
    ['"slow get"', [uuid]],
    ['GET AND slow', [uuid]],
    ['GET slow', [uuid]],
    ['slow OR post', [uuid, 'missing']],
    ['NOT get', ['missing', 'none']],
    ['-get -post', ['none']],
    ['(slow OR post) -status:404', [uuid]],
    ['slow OR post get', [uuid]],
    ['status:504', [uuid]],
    ['status:5xx', [uuid]],
    ['status:>=404', [uuid, 'missing']],
    ['status:>404', [uuid]],
    ['status:<504 status:>200', ['missing']],
    ['status:400..499', ['missing']],
    ['status:(200 OR >=500)', [uuid, 'ok']],
    ['-status:200', [uuid, 'missing', 'none']],
    ['status:*', [uuid, 'missing', 'ok']],
    ['NOT status:*', ['none']],
    ['status_code:404 response.status_code:404 metadata.response.status_code:404', ['missing']],
    ['path:/rest/*', [uuid, 'ok']],
    ['request_path:*v1', ['missing']],
    ['url:*EXAMPLE.com*', [uuid, 'missing', 'ok']],
    ['region:(eu OR us)', [uuid, 'none']],
    ['region:(-eu)', ['missing', 'none', 'ok']],
    ['project:b', ['none']],
    ['id:ok', ['ok']],
    [uuid.toUpperCase(), [uuid]],
    ['message:slow', [uuid]],
    ['message:POST*', ['missing']],
    ['rest/v1/ord', [uuid, 'missing', 'ok']],
    ['EU', [uuid]],
    ['region', []],
    ['message:eu', []],
    ['404', ['missing']],
    ['40', []],
    ['event_message:slow', []],
    ['event_message:*slow*', [uuid]],
    ['(failed)', ['missing']],
    ['"(failed)"', ['missing']],
    [`user.e%2Email:"o'x"`, ['missing']],
    [`"'; DROP TABLE x --"`, ['none']],
    ['*', [uuid, 'missing', 'none', 'ok']],
  ])('finds entries by %j', async (query, ids) => {
    expect(await search(query)).toEqual([...ids].sort())
  })

  test.each([
    ['status:>=', 'Nothing follows >= at character 8. Write a number, without a space before it.'],
    ['a (b OR c', 'Unclosed bracket at character 3.'],
    ['status:many', /The field "status" holds numbers, so its value at character 8 must be a number/],
    ['timestamp:>2026-01-31', /is not a number. .* To limit the time of entries, use the time range.$/],
    ['timestamp:2026-01-31', /^"timestamp" at character 1 is the time of the entry/],
    ['"open', 'Unclosed quote at character 1.'],
    ['request..url:x', /"request..url" at character 1 is not a field/],
  ])('says what is wrong with %j', async (query, message) => {
    for (const route of ['search', 'histogram', 'facets']) {
      const { status, body } = await admin('POST', `${path}/${route}`, { query })
      expect([status, body.error.parameter]).toEqual([400, 'query'])
      expect(body.error.message).toEqual(
        typeof message === 'string' ? message : expect.stringMatching(message),
      )
    }
    expect((await admin('GET', `${path}/tail?query=${encodeURIComponent(query)}`)).status).toBe(400)
  })

  test('reads 5xx as a range in every kind of field, stored and live', async () => {
    const columns = [
      { name: 'number', path: 'number', type: 'number' },
      { name: 'text', path: 'text', type: 'text' },
    ]
    await admin('POST', '/api/sources', { name: 'statuses', columns })
    const metadata = (value: unknown) => ({ number: value, text: value, deep: { path: value } })
    const values = [499, 500, 503, 599, 600, '503', '499', '5xx', 'x503']
    const sent = values.map((value, index) => ({
      ...{ id: `${index}`, project: 'statuses', event_message: 'status' },
      metadata: metadata(value),
    }))
    const follow = (query: string) =>
      openEvents(
        `${service.url}/api/sources/statuses/tail?query=${encodeURIComponent(query)}`,
        service.adminToken.token,
      )
    const range = [500, 503, 599, '503']
    const cases: [string, unknown[]][] = [
      ['number:5xx', range],
      ['number:(499 OR 5xx)', [499, ...range, '499']],
      ...['text', 'deep.path', 'metadata.text'].flatMap((field): [string, unknown[]][] => [
        // A field may have the group itself as its value.
        [`${field}:5xx`, [...range, '5xx']],
        [`${field}:5XX`, range],
        [`${field}:"5xx"`, ['5xx']],
        [`${field}:(499 OR 5xx)`, [499, ...range, '499', '5xx']],
        [`-${field}:5xx`, [499, 600, '499', 'x503']],
        [`NOT ${field}:(600 OR 5xx)`, [499, '499', 'x503']],
      ]),
    ]
    const readers = await Promise.all(cases.map(([query]) => follow(query)))
    await logClient(() => service).send('statuses', JSON.stringify(sent))
    for (const [index, [query, expected]] of cases.entries()) {
      const ids = expected.map((value) => `${values.indexOf(value as never)}`).sort()
      const { body } = await admin('POST', '/api/sources/statuses/search', { query })
      expect([query, body.map(({ id }: { id: string }) => id).sort()]).toEqual([query, ids])
      const live: string[] = []
      while (live.length < ids.length) {
        live.push(JSON.parse((await readers[index]?.next())?.data as string).id)
      }
      expect([query, live.sort()]).toEqual([query, ids])
      readers[index]?.close()
    }
    const none = await admin('POST', '/api/sources/statuses/histogram', { query: 'text:5xx message:none' })
    expect(none.body.notes).toEqual(['No entry in this time range matches message:none.'])
  })

  test('works together with values of a field', async () => {
    const values = await admin('POST', `${path}/values`, { query: '-post', path: 'status' })
    expect(values.body).toEqual([
      { value: '200', count: 1 },
      { value: '504', count: 1 },
    ])
  })

  test('filters live entries', async () => {
    const reader = await openEvents(
      `${service.url}${path}/tail?query=${encodeURIComponent('status:>=500 OR region:eu')}`,
      service.adminToken.token,
    )
    const own = await openEvents(`${service.url}${path}/tail?query=live`, tenant)
    const { send } = logClient(() => service)
    const live = { event_message: 'live', timestamp: new Date(Date.now() - 7_200_000).toISOString() }
    await send(
      'edge_logs',
      JSON.stringify([
        { ...live, id: 'l1', project: 'b', metadata: request(499) },
        { ...live, id: 'l2', project: 'b', metadata: request(500) },
        { ...live, id: 'l3', project: 'a', metadata: { region: 'eu' } },
      ]),
    )
    const idOf = async (from: typeof reader) => JSON.parse((await from.next())?.data as string).id
    expect([await idOf(reader), await idOf(reader), await idOf(own)]).toEqual(['l2', 'l3', 'l3'])
    reader.close()
    own.close()
    const long = Array.from({ length: 21 }, () => 'a').join(' ')
    const refused = await admin('GET', `${path}/tail?query=${encodeURIComponent(long)}`)
    expect(refused.body.error.message).toContain('more than 20 conditions')
  })
})

describe('one entry', () => {
  test('is found by its id, with or without its timestamp', async () => {
    const [found] = (await admin('POST', `${path}/search`, { query: 'id:missing' })).body
    for (const hint of [
      '',
      `?timestamp=${found.timestamp}`,
      '?timestamp=1',
      '?timestamp=99999999999999999',
    ]) {
      const { status, body } = await admin('GET', `${path}/entries/missing${hint}`)
      expect([status, body]).toEqual([200, found])
    }
    expect((await admin('GET', `${path}/entries/missing?timestamp=now`)).body.error.parameter).toBe(
      'timestamp',
    )
    for (const id of ['nobody', "'", '%00', 'x'.repeat(500)]) {
      expect([id, (await admin('GET', `${path}/entries/${id}`)).status]).toEqual([id, 404])
    }
  })
})

describe('a tenant', () => {
  const allowed = async (target: string, body: object) =>
    (await ask(service, tenant, 'POST', `${path}/${target}`, body)).body

  test('searches only the entries of the own project', async () => {
    const own = [uuid, 'missing', 'ok'].sort()
    expect(await search('', tenant)).toEqual(own)
    for (const query of ['* OR project:b', 'NOT project:a', 'NOT (project:a)', 'secret:* OR id:none']) {
      expect(((await search(query, tenant)) as string[]).filter((id) => !own.includes(id))).toEqual([])
    }
    expect(await allowed('values', { path: 'project' })).toEqual([{ value: 'a', count: 3 }])
    expect((await allowed('histogram', { by: 'region' })).buckets[0].counts).not.toHaveProperty('us')
    expect(JSON.stringify(await allowed('facets', {}))).toContain('/auth/v1')
    expect((await ask(service, tenant, 'GET', `${path}/entries/none`)).status).toBe(404)
    expect((await ask(service, tenant, 'GET', `${path}/entries/ok`)).status).toBe(200)
    const recent = (await ask(service, tenant, 'GET', `${path}/recent?limit=1000`)).body
    expect(new Set(recent.map(({ project }: { project: string }) => project))).toEqual(new Set(['a']))
  })

  test('gets 403 for another project', async () => {
    const refused = await ask(service, tenant, 'POST', `${path}/search`, { project: 'b' })
    expect([refused.status, refused.body.error.message]).toEqual([
      403,
      'This token is limited to project a; omit the project parameter.',
    ])
    expect((await ask(service, tenant, 'POST', `${path}/search`, { project: 'a' })).status).toBe(200)
  })

  test('learns nothing from the notes about values of others', async () => {
    expect((await histogram({ query: 'region:us' }, tenant)).notes).toEqual([
      'No entry in this time range matches region:us.',
    ])
  })

  test('sees its rights and the sources, but no saved searches', async () => {
    const { body } = await ask(service, tenant, 'GET', '/api/whoami')
    expect(body.logs).toBe(true)
    const source = body.sources.find(({ name }: { name: string }) => name === 'edge_logs')
    expect(Object.keys(source).sort()).toEqual(['columns', 'description', 'name'])
    const other = await makeToken(service, { scopes: ['query'], project: 'a' })
    const limited = (await ask(service, other.token, 'GET', '/api/whoami')).body
    expect([limited.logs, limited.sources]).toEqual([false, []])
    expect((await ask(service, tenant, 'GET', '/api/searches')).status).toBe(403)
  })
})

countingEntries(() => service)
pages(() => service)
savedSearches(() => service)
searchAgreement(() => service)
onward(() => service)
