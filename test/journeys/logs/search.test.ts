import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cursorAfter, type SearchCursor } from '../../../src/sources/search/search-cursor.ts'
import { ask, makeToken } from '../../support/callers.ts'
import { logClient } from '../../support/log-client.ts'
import { openEvents } from '../../support/network/event-reader.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { onward } from './onward.ts'
import { savedSearches } from './saved-searches.ts'
import { searchAgreement } from './search-agreement.ts'

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

describe('counting entries', () => {
  test('splits a histogram by status, or by any field', async () => {
    const counts = async (by: string) => {
      const { buckets, notes } = await histogram({ by })
      expect(notes).toEqual([])
      const sums: Record<string, number> = {}
      for (const bucket of buckets) {
        expect(bucket.count).toBe(sumOf(Object.values(bucket.counts)))
        for (const [value, n] of Object.entries(bucket.counts as Record<string, number>)) {
          sums[value] = (sums[value] ?? 0) + n
        }
      }
      return sums
    }
    expect(await counts('status')).toEqual({ '2xx': 1, '4xx': 1, '5xx': 1, '': 1 })
    expect(await counts('region')).toEqual({ eu: 1, us: 1, '': 2 })
    expect((await admin('POST', `${path}/histogram`, { by: 'a..b' })).body.error.parameter).toBe('by')
  })

  test('counts all but the eight most frequent values together', async () => {
    await admin('POST', '/api/sources', { name: 'grouped' })
    const many = Array.from({ length: 30 }, (_, index) => ({
      metadata: { kind: index < 12 ? `__proto__${index % 3}` : `k${index}` },
    }))
    many.push({ metadata: { kind: '__proto__' } }, { metadata: { kind: '__proto__' } })
    await logClient(() => service).send('grouped', JSON.stringify(many))
    const { body } = await admin('POST', '/api/sources/grouped/histogram', { by: 'kind', buckets: 1 })
    const [first] = body.buckets
    expect(Object.keys(first.counts)).toHaveLength(9)
    expect(first.counts).toMatchObject({ __proto__0: 4, __proto__1: 4, __proto__2: 4, '…': 14 })
    expect(Object.hasOwn(first.counts, '__proto__')).toBe(true)
  })

  test('reads columns that have the names of results', async () => {
    const names = ['n', 'n0', 'value', 'bucket', 'g', 'entries', 'top0']
    const columns = names.map((name) => ({ name, path: name, type: name === 'n' ? 'number' : 'text' }))
    await admin('POST', '/api/sources', { name: 'named', columns })
    const sent = ['a', 'b'].map((text, n) => ({
      metadata: Object.fromEntries(names.map((name) => [name, name === 'n' ? n : text])),
    }))
    await logClient(() => service).send('named', JSON.stringify(sent))
    const read = async (route: string, body: object) => {
      const answer = await admin('POST', `/api/sources/named/${route}`, body)
      return answer.status === 200 ? answer.body : answer.body.error.message
    }
    for (const name of names) {
      const query = name === 'n' ? 'n:0' : `${name}:a`
      const by = { query, by: name }
      const value = name === 'n' ? '0' : 'a'
      expect.soft((await read('histogram', { query })).buckets?.[0]?.count, query).toBe(1)
      expect.soft((await read('histogram', by)).buckets?.[0]?.counts, query).toEqual({ [value]: 1 })
      expect.soft(await read('values', { query, path: name }), query).toEqual([{ value, count: 1 }])
      expect.soft((await read('facets', { query })).facets?.length, query).toBe(6)
      expect
        .soft((await read('histogram', { query: `${query} none` })).notes, query)
        .toEqual(['No entry in this time range matches "none".'])
    }
  })

  test('returns the values of typed columns', async () => {
    const { body } = await admin('POST', `${path}/facets`, { query: 'project:a' })
    const typed = body.facets.filter(({ column }: { column: string | null }) => column !== null)
    expect(typed.map(({ column }: { column: string }) => column)).toEqual([
      'status_code',
      'request_path',
      'request_method',
      'request_url',
    ])
    expect(body.entries).toBe(3)
    expect(typed[1]).toEqual({
      field: 'request.path',
      column: 'request_path',
      entries: 3,
      sampled: 3,
      distinct: 2,
      values: [
        { value: '/rest/v1/orders', count: 2 },
        { value: '/auth/v1', count: 1 },
      ],
    })
  })

  test('detects fields without typed columns, with their share and values', async () => {
    await admin('POST', '/api/sources', {
      name: 'own_shape',
      columns: [{ name: 'region', path: 'region', type: 'text' }],
    })
    const sent = Array.from({ length: 120 }, (_, n) => ({
      project: n % 3 === 0 ? 'theirs' : 'ours',
      metadata: {
        level: n % 3 === 0 ? 'secret' : 'info',
        region: 'eu',
        http: { status: n % 2 === 0 ? 200 : 500, ...(n % 4 === 0 && { 'x.y': true }) },
        trace: `t${n}`,
        tags: ['a'],
      },
    }))
    await logClient(() => service).send('own_shape', JSON.stringify(sent))
    const facets = async (body: object, token = service.adminToken.token) =>
      (await ask(service, token, 'POST', '/api/sources/own_shape/facets', body)).body.facets
    const all = await facets({})
    expect(all).toEqual([
      {
        ...{ field: 'http.status', column: null, entries: 120, sampled: 120, distinct: 2 },
        values: [
          { value: '200', count: 60 },
          { value: '500', count: 60 },
        ],
      },
      {
        ...{ field: 'level', column: null, entries: 120, sampled: 120, distinct: 2 },
        values: [
          { value: 'info', count: 80 },
          { value: 'secret', count: 40 },
        ],
      },
      {
        ...{ field: 'trace', column: null, entries: 120, sampled: 120, distinct: null },
        values: Array(10).fill({ value: expect.stringMatching(/^t\d+$/), count: 1 }),
      },
      {
        ...{ field: 'region', column: 'region', entries: 120, sampled: 120, distinct: 1 },
        values: [{ value: 'eu', count: 120 }],
      },
      {
        ...{ field: 'http.x%2Ey', column: null, entries: 30, sampled: 120, distinct: 1 },
        values: [{ value: 'true', count: 30 }],
      },
    ])
    const schema = (await admin('GET', '/api/sources/own_shape/schema')).body as { path: string }[]
    expect(schema.filter(({ path: each }) => each.startsWith('http.x'))).toEqual([
      expect.objectContaining({ path: 'http.x%2Ey', entries: 30, column: null, examples: ['true'] }),
    ])
    for (const query of ['http.x%2Ey:true', 'http."x.y":true', 'metadata.http."x.y":true']) {
      const status = (await facets({ query })).find(({ field }: { field: string }) => field === 'http.status')
      expect(status).toMatchObject({ entries: 30, sampled: 30, distinct: 1 })
    }
    expect(await facets({ query: 'level:none' })).toEqual([])
    const { token } = await makeToken(service, { scopes: ['search'], project: 'ours' })
    const own = (await facets({}, token)).find(({ field }: { field: string }) => field === 'level')
    expect(own).toMatchObject({ sampled: 80, values: [{ value: 'info', count: 80 }] })
    const columns = async (asked?: string) =>
      (await ask(service, asked ?? service.adminToken.token, 'GET', '/api/sources/own_shape/list-columns'))
        .body
    expect(await columns()).toEqual({
      proposed: true,
      columns: [
        { path: 'level', kind: 'level' },
        { path: 'http.status', kind: 'status' },
      ],
    })
    // In the tenant's entries, the level is always the same.
    expect((await columns(token)).columns).toEqual([{ path: 'http.status', kind: 'status' }])
    const change = { list_columns: ['metadata.http."x.y"', 'http.status', 'metadata.project'] }
    const changed = await admin('PATCH', '/api/sources/own_shape', change)
    expect(changed.body.list_columns).toEqual(['http.x%2Ey', 'http.status', 'metadata.project'])
    expect((await columns(token)).columns.map(({ path: each }: { path: string }) => each)).toEqual(
      changed.body.list_columns,
    )
    const refused = await admin('PATCH', '/api/sources/own_shape', { list_columns: ['a..b'] })
    expect([refused.status, refused.body.error.message]).toEqual([
      400,
      expect.stringContaining('must be keys with dots between them, such as request.path'),
    ])
  })

  test('shows the top ten of a typed column with many values, and finds the others', async () => {
    const columns = ['few', 'many'].map((name) => ({ name, path: name, type: 'text' }))
    await admin('POST', '/api/sources', { name: 'faceted', columns })
    const sent = Array.from({ length: 400 }, (_, index) => ({
      metadata: { few: `f${index % 30}`, many: `M${index % 350}` },
    }))
    await logClient(() => service).send('faceted', JSON.stringify(sent))
    const { body } = await admin('POST', '/api/sources/faceted/facets', {})
    expect(body.facets.map(({ field }: { field: string }) => field)).toEqual(['few', 'many'])
    expect(body.facets[0].values).toHaveLength(30)
    expect(body.facets[0].values[0]).toEqual({ value: 'f0', count: 14 })
    expect(body.facets[1]).toMatchObject({ entries: 400, sampled: 400, distinct: null })
    expect(body.facets[1].values).toHaveLength(10)
    expect(body.facets[1].values[0]).toEqual({ value: 'M0', count: 2 })
    const found = await admin('POST', '/api/sources/faceted/values', { path: 'many', search: 'm34' })
    expect(found.body.map(({ value }: { value: string }) => value).sort()).toEqual(
      ['M34', ...Array.from({ length: 10 }, (_, index) => `M34${index}`)].sort(),
    )
  })

  test.each([
    ['regoin:eu', 'No entry in this time range matches regoin:eu. Did you mean region?'],
    [
      'response.statuscode:500',
      'No entry in this time range matches response.statuscode:500. Did you mean response.status_code?',
    ],
    ['user.e.mail:x', 'No entry in this time range matches user.e.mail:x. Did you mean user."e.mail"?'],
    [
      'status>=500',
      'No entry in this time range matches "status>=500". To compare a field, write status:>=500.',
    ],
    ['region=eu', 'No entry in this time range matches "region=eu". To compare a field, write region:eu.'],
    ['(status:200) nothing', 'No entry in this time range matches "nothing".'],
    ['status:200 status:404', 'Each condition matches entries alone, but no entry matches all of them.'],
    ['status:200 -method:GET', 'Each condition matches entries alone, but no entry matches all of them.'],
    ['-id:*', 'The query excludes every entry in this time range.'],
    ['(status:200 OR status:404) region:(asia)', 'No entry in this time range matches region:asia.'],
    [
      '00000000-0000-0000-0000-000000000000',
      'No entry in this time range matches "00000000-0000-0000-0000-000000000000".',
    ],
    ['x'.repeat(1000), `No entry in this time range matches "${'x'.repeat(99)}….`],
  ])('says why nothing matches %j', async (query, note) => {
    expect(await histogram({ query })).toMatchObject({ buckets: [], notes: [note] })
  })

  test('says when the newest entry was stored if the range is empty', async () => {
    const past = { from: '2020-01-01T00:00:00Z', to: '2020-01-02T00:00:00Z' }
    expect((await histogram({ ...past, query: 'a' })).notes).toEqual([
      expect.stringMatching(
        /^There are no entries in this time range. The newest entry is from 20\d\d-.*T.*Z\.$/,
      ),
    ])
    expect((await histogram({ project: 'nobody' })).notes).toEqual([
      'The source has no entries of project "nobody".',
    ])
  })
})

describe('pages', () => {
  const source = '/api/sources/repeated'
  const timestamp = new Date(Date.now() - 60_000).toISOString()
  const entry = (id: string, n: number) => ({
    ...{ id, timestamp, project: `p${n % 3}`, event_message: `repeated ${n % 2}` },
    metadata: { n: n % 5 },
  })
  // Some differ in their project, message or metadata alone, and some in nothing. Several requests store several parts.
  const sent = [
    Array.from({ length: 20 }, (_, n) => entry('same', n)),
    Array.from({ length: 20 }, (_, n) => entry('same', n)),
    [entry('a', 1), entry('z', 2), { ...entry('same', 3), timestamp: new Date(Date.now() - 120_000) }],
  ]
  type Row = { timestamp: number; id: string; metadata: object; project: string; event_message: string }
  const textOf = ({ id, project, event_message, metadata }: Omit<Row, 'timestamp'>) =>
    JSON.stringify([id, project, event_message, metadata])

  beforeAll(async () => {
    await admin('POST', '/api/sources', { name: 'repeated' })
    for (const entries of sent) await logClient(() => service).send('repeated', JSON.stringify(entries))
  })

  test.each([1, 2, 3, 7, 41, 100])(
    'of %i entries neither skip nor repeat entries with the same timestamp and id',
    async (limit) => {
      for (const filter of [{}, { query: 'repeated -n:4' }, { project: 'p1' }]) {
        const all = (await admin('POST', `${source}/search`, { ...filter, limit: 1000 })).body as Row[]
        const read: Row[] = []
        for (let before: SearchCursor | undefined; ; before = cursorAfter(read)) {
          const { status, body } = await admin('POST', `${source}/search`, { ...filter, limit, before })
          expect([status, body.length <= limit]).toEqual([200, true])
          read.push(...body)
          if (body.length < limit) break
        }
        expect(read).toEqual(all)
        if (!('query' in filter) && !('project' in filter)) {
          expect(read.map(textOf).sort()).toEqual(sent.flat().map(textOf).sort())
        }
      }
    },
  )

  test('without a number of read entries continue after all entries with that timestamp and id', async () => {
    const [first, second] = (await admin('POST', `${source}/search`, { limit: 2 })).body as Row[]
    expect([first?.id, second?.id]).toEqual(['z', 'same'])
    const before = { timestamp: second?.timestamp, id: second?.id }
    const { body } = await admin('POST', `${source}/search`, { before })
    expect(body.map(({ id }: Row) => id)).toEqual(['a', 'same'])
    for (const skip of [-1, 1.5, 'x', 2_000_000]) {
      const refused = await admin('POST', `${source}/search`, { before: { ...before, skip } })
      expect([refused.status, refused.body.error.parameter]).toEqual([400, 'before.skip'])
    }
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
    const source = body.sources.find(({ name }: { name: string }) => name === 'postgrest_logs')
    expect(Object.keys(source).sort()).toEqual(['columns', 'description', 'name'])
    const other = await makeToken(service, { scopes: ['query'], project: 'a' })
    const limited = (await ask(service, other.token, 'GET', '/api/whoami')).body
    expect([limited.logs, limited.sources]).toEqual([false, []])
    expect((await ask(service, tenant, 'GET', '/api/searches')).status).toBe(403)
  })
})

savedSearches(() => service)
searchAgreement(() => service)
onward(() => service)

function sumOf(numbers: unknown[]): number {
  return (numbers as number[]).reduce((sum, number) => sum + number, 0)
}
