import { beforeAll, describe, expect, test } from 'vitest'
import type { RunningService } from '../../support/service.ts'
import { sharedService } from '../../support/shared-service.ts'

type Body = { result?: Record<string, unknown>[]; error?: { code: string; message: string } }

describe('parameters that are lists', () => {
  let service: RunningService
  sharedService((shared) => {
    service = shared
  })

  const json = async (path: string, method: string, body: unknown) => {
    const response = await service.call(path, {
      method,
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: response.status, headers: response.headers, body: (await response.json()) as Body }
  }
  const create = async (endpoint: {
    name: string
    query: string
    parameters: object
    [field: string]: unknown
  }) => {
    const created = await json('/api/endpoints', 'POST', endpoint)
    expect(created.body, endpoint.name).not.toHaveProperty('error')
    return created
  }
  const call = async (name: string, search = '') => {
    const response = await service.call(`/api/endpoints/query/${name}${search}`)
    const body = (await response.json()) as Body
    return { status: response.status, cache: response.headers.get('cache-status'), ...body }
  }
  const echo = (name: string, of: string, rest: object = {}) =>
    create({
      name,
      query: 'SELECT @values AS sent, toTypeName(sent) AS type',
      parameters: { values: { type: 'list', of, ...rest } },
    })

  beforeAll(async () => {
    await echo('lists.text', 'string')
    await echo('lists.numbers', 'number')
    await echo('lists.times', 'timestamp')
    await create({
      name: 'lists.filter',
      query: `SELECT number FROM numbers(6) WHERE (empty(@only) OR number IN @only) AND (@above IS NULL OR number > @above)
        AND (empty(@not) OR NOT has(@not, number)) ORDER BY number`,
      parameters: {
        only: { type: 'list', of: 'number' },
        not: { type: 'list', of: 'number' },
        above: { type: 'integer' },
      },
    })
  })

  test.each([
    ['', []],
    ['?values=a', ['a']],
    ['?values=a&values=b', ['a', 'b']],
    ['?values=b&values=a&values=b', ['b', 'a', 'b']],
    ['?values=', ['']],
    ['?values=a,b', ['a,b']],
    ['?values=[%22a%22]', ['["a"]']],
    [`?values=${encodeURIComponent(`it's \\ "x"\t\n\r\0é😀`)}&values='`, [`it's \\ "x"\t\n\r\0é😀`, "'"]],
  ])('%s is what the SQL sees', async (search, sent) => {
    expect((await call('lists.text', search)).result).toEqual([{ sent, type: 'Array(String)' }])
  })

  test('are arrays in a body', async () => {
    const post = (values: unknown) => json('/api/endpoints/query/lists.text', 'POST', { values })
    expect((await post(['a', 'b,c', '[]'])).body.result).toMatchObject([{ sent: ['a', 'b,c', '[]'] }])
    expect((await post('["a"]')).body.result).toMatchObject([{ sent: ['["a"]'] }])
    expect((await post([])).body.result).toMatchObject([{ sent: [] }])
    expect((await post(null)).body.result).toMatchObject([{ sent: [] }])
    expect((await post([404, true])).body.result).toMatchObject([{ sent: ['404', 'true'] }])
    expect((await post([['a']])).body.error).toMatchObject({
      code: 'invalid_parameter',
      message: 'values must be text.',
    })
    expect((await post([null])).body.error).toMatchObject({ message: 'values must not contain null.' })
  })
  test('have the type of their values', async () => {
    expect((await call('lists.numbers', '?values=1.50&values=-2e3')).result).toEqual([
      { sent: [1.5, -2000], type: 'Array(Float64)' },
    ])
    const { result } = await call('lists.times', '?values=2026-01-31&values=2026-01-31T12:00:00.5%2B01:00')
    expect(result).toEqual([
      {
        sent: ['2026-01-31T00:00:00.000000Z', '2026-01-31T11:00:00.500000Z'],
        type: "Array(DateTime64(6, 'UTC'))",
      },
    ])
    const problem = 'values must be a list in which each value is a number; received'
    expect((await call('lists.numbers', '?values=1&values=x')).error?.message).toContain(problem)
    expect((await call('lists.numbers', '?values=')).error?.message).toContain(problem)
  })

  test('are values of SQL that is not saved', async () => {
    const sql = async (l: unknown) =>
      (await json('/api/sql', 'POST', { query: 'SELECT @l AS l', parameters: { l } })).body
    expect((await sql(['a', 'b,c'])).result).toEqual([{ l: ['a', 'b,c'] }])
    expect((await sql([1, 2.5])).result).toEqual([{ l: [1, 2.5] }])
    expect((await sql([1, 'a'])).result).toEqual([{ l: ['1', 'a'] }])
    expect((await sql([])).result).toEqual([{ l: [] }])
    for (const wrong of [[null], [['a']], [2 ** 60], Array(1001).fill('a')])
      expect((await sql(wrong)).error?.code).toBe('invalid_parameter')
  })

  test('filter, or do not if they are omitted', async () => {
    const numbers = async (search: string) =>
      (await call('lists.filter', search)).result?.map(({ number }) => number)
    expect(await numbers('')).toEqual([0, 1, 2, 3, 4, 5])
    expect(await numbers('?only=4&only=1&only=9')).toEqual([1, 4])
    expect(await numbers('?above=2&not=4')).toEqual([3, 5])
  })

  test('that are omitted are not part of the plan', async () => {
    const plan = async (search: string) => {
      const response = await service.call(`/api/endpoints/query/lists.filter${search}`)
      return response.text()
    }
    expect(await plan('?_explain=1')).not.toMatch(/Filter/)
    expect(await plan('?_explain=1&above=2')).toMatch(/Filter/)
  })

  test('have at most 1,000 values', async () => {
    const post = (length: number) =>
      json('/api/endpoints/query/lists.numbers', 'POST', {
        values: Array.from({ length }, (_, index) => index),
      })
    expect((await post(1000)).status).toBe(200)
    const { status, body } = await post(1001)
    expect([status, body.error?.code, body.error?.message]).toEqual([
      400,
      'invalid_parameter',
      'values must have at most 1000 values.',
    ])
  })

  test('share a cached result in another order only if the author says so', async () => {
    for (const unordered of [true, false]) {
      const name = `lists.unordered-${unordered}`
      await echo(name, 'string', { unordered })
      await json(`/api/endpoints/${name}`, 'PATCH', { cache_seconds: 60 })
      const first = await call(name, '?values=a&values=b')
      const second = await call(name, '?values=b&values=a')
      expect(second.cache?.includes('hit')).toBe(unordered)
      expect(first.result?.[0]?.sent).toEqual(['a', 'b'])
      expect(second.result?.[0]?.sent).toEqual(unordered ? ['a', 'b'] : ['b', 'a'])
      // Joined, both are the same text.
      expect((await call(name, '?values=a,b')).cache).not.toContain('hit')
    }
  })

  test('can be limited to some values, and have a default', async () => {
    await echo('lists.enum', 'string', { enum: ['a', 'b', 'c'], default: ['b', 'c'], empty_is_omitted: true })
    expect((await call('lists.enum')).result?.[0]?.sent).toEqual(['b', 'c'])
    expect((await call('lists.enum', '?values=')).result?.[0]?.sent).toEqual(['b', 'c'])
    expect((await call('lists.enum', '?values=a&values=d')).error?.message).toBe(
      'values must be one of a, b, c.',
    )
    const view = (await (await service.call('/api/endpoints/lists.enum')).json()) as { parameters: object }
    expect(view.parameters).toMatchObject({ values: { type: 'list', of: 'string', default: ['b', 'c'] } })
    const refused = await json('/api/endpoints', 'POST', {
      ...{ name: 'lists.refused', query: 'SELECT @values AS sent' },
      parameters: { values: { type: 'list', of: 'number', default: [1, 'x'] } },
    })
    expect(refused.body.error?.message).toContain('each value is a number')
  })

  test('are fixed by tokens, and other values are refused', async () => {
    const { body } = await json('/api/access-tokens', 'POST', {
      ...{ description: 'lists', scopes: ['query'], parameters: { values: ['a', 'b'] } },
    })
    const headers = { 'X-API-KEY': (body as { token?: string }).token ?? '' }
    const sent = async (search: string) => {
      const response = await fetch(`${service.url}/api/endpoints/query/lists.text${search}`, { headers })
      return [response.status, (await response.json()) as Body]
    }
    expect(await sent('')).toMatchObject([200, { result: [{ sent: ['a', 'b'] }] }])
    expect(await sent('?values=a&values=b')).toMatchObject([200, {}])
    expect(await sent('?values=a')).toMatchObject([403, { error: { code: 'forbidden' } }])
  })

  test('are sent twice only if the endpoint declares them', async () => {
    await create({ name: 'lists.single', query: 'SELECT @value AS sent', parameters: { value: {} } })
    const twice = 'was sent twice.'
    expect((await call('lists.single', '?value=a&value=b')).error?.message).toBe(`value ${twice}`)
    expect((await call('lists.text', '?other=a&other=b')).error?.message).toBe(`other ${twice}`)
    expect((await call('lists.text', '?_format=json&_format=csv')).error?.message).toBe(`_format ${twice}`)
    const both = await json('/api/endpoints/query/lists.text?values=a', 'POST', { values: ['b'] })
    expect(both.body.error?.message).toBe(`values ${twice}`)
    const array = await json('/api/endpoints/query/lists.single', 'POST', { value: ['a'] })
    expect(array.body.error?.message).toBe('value must be text.')
  })

  test('are arrays for the client of the API and for agents', async () => {
    const document = (await (await service.call('/openapi.json')).json()) as { paths: Record<string, never> }
    const described = JSON.stringify(document.paths['/api/endpoints/query/lists.numbers'])
    expect(described).toContain('"schema":{"type":"array","items":{"type":"number"},"maxItems":1000}')
  })
})

describe('parameters that are dates', () => {
  let service: RunningService
  sharedService((shared) => {
    service = shared
  })

  test('are compared with dates and timestamps', async () => {
    const query = `SELECT @day AS day, toTypeName(@day) AS type, toDate(t) = @day AS same, t >= @day AS since
      FROM (SELECT toDateTime64('2026-11-18 10:00:00', 6, 'UTC') AS t)`
    const body = JSON.stringify({
      name: 'lists.date',
      query,
      parameters: { day: { type: 'date', required: true } },
    })
    const headers = { 'Content-Type': 'application/json' }
    expect((await service.call('/api/endpoints', { method: 'POST', headers, body })).status).toBe(201)
    const get = async (day: string) =>
      (await service.call(`/api/endpoints/query/lists.date?day=${day}`)).json()
    expect(await get('2026-11-18')).toEqual({
      result: [{ day: '2026-11-18', type: 'Date32', same: 1, since: 1 }],
    })
    expect(await get('2026-11-19')).toMatchObject({ result: [{ same: 0, since: 0 }] })
    for (const wrong of ['1899-12-31', '9999-12-31', '2026-02-30', '2026-11-18T00:00:00Z', '18.11.2026', ''])
      expect(await get(wrong)).toMatchObject({ error: { code: 'invalid_parameter' } })
  })
})
