import { describe, expect, test } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import { logClient } from '../../support/log-client.ts'
import type { RunningService } from '../../support/service.ts'

const path = '/api/sources/edge_logs'

/** Histograms, values and facets of the entries that search.test.ts has sent. */
export function countingEntries(running: () => RunningService): void {
  const admin = (method: string, target: string, body?: unknown) =>
    ask(running(), running().adminToken.token, method, target, body)
  const histogram = async (body: object) => (await admin('POST', `${path}/histogram`, body)).body

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
      const long = 'x'.repeat(300)
      Object.assign(many[0]?.metadata ?? {}, { long })
      many.push({ metadata: { kind: '__proto__' } }, { metadata: { kind: '__proto__' } })
      await logClient(running).send('grouped', JSON.stringify(many))
      const { body } = await admin('POST', '/api/sources/grouped/histogram', { by: 'kind', buckets: 1 })
      const [first] = body.buckets
      expect(Object.keys(first.counts)).toHaveLength(9)
      expect(first.counts).toMatchObject({ __proto__0: 4, __proto__1: 4, __proto__2: 4, '…': 14 })
      expect(Object.hasOwn(first.counts, '__proto__')).toBe(true)
      const byLong = (await admin('POST', '/api/sources/grouped/histogram', { by: 'long', buckets: 1 })).body
      expect(byLong.buckets[0].counts).toEqual({ [long]: 1, '': 31 })
    })

    test('reads columns that have the names of results', async () => {
      const names = ['n', 'n0', 'value', 'bucket', 'g', 'entries', 'top0']
      const columns = names.map((name) => ({ name, path: name, type: name === 'n' ? 'number' : 'text' }))
      await admin('POST', '/api/sources', { name: 'named', columns })
      const sent = ['a', 'b'].map((text, n) => ({
        metadata: Object.fromEntries(names.map((name) => [name, name === 'n' ? n : text])),
      }))
      await logClient(running).send('named', JSON.stringify(sent))
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
        published: true,
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
      await logClient(running).send('own_shape', JSON.stringify(sent))
      const facets = async (body: object, token = running().adminToken.token) =>
        (await ask(running(), token, 'POST', '/api/sources/own_shape/facets', body)).body.facets
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
        const status = (await facets({ query })).find(
          ({ field }: { field: string }) => field === 'http.status',
        )
        expect(status).toMatchObject({ entries: 30, sampled: 30, distinct: 1 })
      }
      expect(await facets({ query: 'level:none' })).toEqual([])
      const { token } = await makeToken(running(), { scopes: ['search'], project: 'ours' })
      const own = (await facets({}, token)).find(({ field }: { field: string }) => field === 'level')
      expect(own).toMatchObject({ sampled: 80, values: [{ value: 'info', count: 80 }] })
      const columns = async (asked?: string) =>
        (
          await ask(
            running(),
            asked ?? running().adminToken.token,
            'GET',
            '/api/sources/own_shape/list-columns',
          )
        ).body
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
      await logClient(running).send('faceted', JSON.stringify(sent))
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
}

function sumOf(numbers: unknown[]): number {
  return (numbers as number[]).reduce((sum, number) => sum + number, 0)
}
