import type { Worker } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import type { RunningService } from '../../support/service.ts'
import { sharedService } from '../../support/shared-service.ts'

let service: RunningService
sharedService((shared) => {
  service = shared
})
const admin = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
  ask(service, service.adminToken.token, method, path, body, headers)
const rowsOf = (table: string) => `/api/tables/${table}/rows`
const put = (table: string, body: string, type = 'text/csv', more = '') =>
  admin('PUT', rowsOf(table) + more, body, { 'Content-Type': type })
const create = (name: string, more: object = {}) => admin('POST', '/api/tables', { name, ...more })
const sql = async (query: string) => {
  const { status, body } = await admin('POST', '/api/sql', { query })
  return status === 200 ? body.result : body.error
}
const csv = async (table: string) => (await admin('GET', `${rowsOf(table)}?_format=csv`)).body
const endpoint = (name: string, query: string, more: object = {}) =>
  admin('POST', '/api/endpoints', { name, query, ...more })
const call = (token: string, name: string, query = '') =>
  ask(service, token, 'GET', `/api/endpoints/query/${name}${query}`)
const send = async (source: string, ...entries: object[]) => {
  const { status } = await admin('POST', `/api/logs?source=${source}`, entries)
  expect(status).toBe(200)
}

/** Does something with each worker thread that starts meanwhile. */
async function onWorkers(act: (worker: Worker) => void, work: () => Promise<void>): Promise<void> {
  process.on('worker', act)
  await work().finally(() => process.off('worker', act))
}

/** Different fields, with commas. */
const nine = (text: string) => Array.from({ length: 9 }, (_, n) => text + n).join()

describe('rows of a table', () => {
  test('tell the types of its columns, and SQL reads them by its name', async () => {
    await create('t_plans')
    expect(await sql('SELECT 1 FROM t_plans')).toMatchObject({ code: 'invalid_query' })
    const rows =
      '\ufeffid,seats,active,since,code,note\r\n' +
      'a,3,true,2026-01-02T03:04:05Z,007,"one, ""two""\r\nlines"\r\n\r\n' +
      'b,4.5,FALSE,2026-01-03 00:00:00,12,""\r\n' +
      'c,,,,,'
    const columns = [
      { name: 'id', type: 'text' },
      { name: 'seats', type: 'number' },
      { name: 'active', type: 'boolean' },
      { name: 'since', type: 'timestamp' },
      { name: 'code', type: 'text' },
      { name: 'note', type: 'text' },
    ]
    expect(await put('t_plans', rows)).toMatchObject({ status: 200, body: { rows: 3, columns } })
    expect(await sql('SELECT * FROM t_plans ORDER BY id')).toEqual([
      {
        ...{ id: 'a', seats: 3, active: true, since: '2026-01-02T03:04:05.000000Z', code: '007' },
        note: 'one, "two"\r\nlines',
      },
      { id: 'b', seats: 4.5, active: false, since: '2026-01-03T00:00:00.000000Z', code: '12', note: '' },
      { id: 'c', seats: null, active: null, since: null, code: null, note: null },
    ])
    const { body } = await admin('GET', '/api/tables/t_plans')
    expect(body).toMatchObject({ name: 't_plans', columns: [], stored_columns: columns, rows: 3, version: 1 })
    expect(body.digest).toMatch(/^[0-9a-f]{64}$/)
    expect(body.rows_updated_at).toBe(new Date(body.rows_updated_at).toISOString())
  })

  test('come back as they were sent, and can be sent again', async () => {
    await create('t_again')
    const rows = '"id","n","at","b"\n"x, ""y""",1.5,"2026-01-02T03:04:05.123456Z",true\n"",,,\n'
    await put('t_again', rows)
    const first = await csv('t_again')
    expect(await put('t_again', first)).toMatchObject({ status: 200, body: { rows: 2 } })
    expect(await csv('t_again')).toBe(first)
    expect((await admin('GET', `${rowsOf('t_again')}?limit=1`)).body).toEqual({
      rows: 2,
      result: [{ id: 'x, "y"', n: 1.5, at: '2026-01-02T03:04:05.123456Z', b: true }],
    })
    expect((await admin('GET', `${rowsOf('t_again')}?_format=ndjson`)).body.trim().split('\n')).toHaveLength(
      2,
    )
  })

  test.each([
    ['application/x-ndjson', '{"id":"a","n":1}\n\n{"n":2,"id":null}\n'],
    ['application/json', '[{"id":"a","n":1},{"n":2}]'],
  ])('can be %s', async (type, rows) => {
    const name = `t_json_${type.length}`
    await create(name)
    expect(await put(name, rows, type)).toMatchObject({ status: 200, body: { rows: 2 } })
    expect(await sql(`SELECT * FROM ${name} ORDER BY n`)).toEqual([
      { id: 'a', n: 1 },
      { id: null, n: 2 },
    ])
  })

  test('replace the old ones, and the cached results that read them', async () => {
    await create('t_cached')
    await put('t_cached', 'id,plan\na,pro\n')
    await send('edge_logs', { project: 'tables-cache', event_message: 'a', metadata: {} })
    const join =
      'SELECT count() AS n, any(plan) AS plan FROM edge_logs AS e INNER JOIN t_cached AS c ON c.id = e.event_message ' +
      "WHERE e.project = 'tables-cache'"
    await endpoint('t-cached.join', join, { cache_seconds: 3600 })
    const asked = () => call(service.adminToken.token, 't-cached.join')
    expect((await asked()).body.result).toEqual([{ n: 1, plan: 'pro' }])
    expect((await asked()).headers.get('cache-status')).toContain('hit')
    await put('t_cached', 'id,plan\na,free\n')
    expect((await asked()).body.result).toEqual([{ n: 1, plan: 'free' }])
  })

  test('that would break an endpoint are refused, unless the caller insists', async () => {
    await create('t_used')
    await put('t_used', 'id,n\na,1\n')
    await endpoint('t-used.sum', 'SELECT sum(n) AS total FROM t_used')
    const refused = await put('t_used', 'id,m\na,1\n')
    expect(refused).toMatchObject({ status: 409, body: { error: { code: 'breaking_change' } } })
    expect(JSON.stringify(refused.body)).toContain('endpoints/t-used.sum')
    expect(await csv('t_used')).toBe('id,n\n"a",1\n')
    expect(await put('t_used', 'id,n,m\na,2,3\n')).toMatchObject({ status: 200 })
    // Nobody reads the column m, and what fails already is not broken.
    expect(await put('t_used', 'id,n\na,2\n')).toMatchObject({ status: 200 })
    expect((await put('t_used', 'id,m\na,1\n', 'text/csv', '?breaking=true')).status).toBe(200)
    expect(await put('t_used', 'id,n\na,3\n')).toMatchObject({ status: 200 })
    await endpoint('t-used.all', 'SELECT * FROM t_used')
    expect((await put('t_used', 'id,k\na,true\n', 'text/csv', '?breaking=true')).status).toBe(200)
    expect((await call(service.adminToken.token, 't-used.all')).body.result).toEqual([{ id: 'a', k: true }])
    expect((await call(service.adminToken.token, 't-used.sum')).status).toBe(422)
  })

  test('sent at once leave one whole set, each read by a worker', async () => {
    await create('t_race')
    const setOf = (n: number) =>
      `id,n\n${Array.from({ length: 3_000 }, (_, row) => `r${row},${n}`).join('\n')}\n`
    let workers = 0
    await onWorkers(
      () => workers++,
      async () => {
        const sent = await Promise.all([1, 2, 3, 4].map((n) => put('t_race', setOf(n))))
        expect(sent.map(({ status }) => status)).toEqual([200, 200, 200, 200])
      },
    )
    expect(workers).toBe(4)
    const [row] = await sql('SELECT count() AS rows, uniqExact(n) AS sets FROM t_race')
    expect(row).toEqual({ rows: 3_000, sets: 1 })
  })

  test('stay if a worker ends or the sender disconnects while new ones are read', async () => {
    await create('t_left')
    await put('t_left', 'id\nold\n')
    const many = `id\n${'new\n'.repeat(50_000)}`
    await onWorkers(
      (worker) => void worker.terminate(),
      async () => expect((await put('t_left', many)).status).toBe(500),
    )
    const gone = new AbortController()
    await onWorkers(
      () => gone.abort(),
      async () => {
        const sent = service.call(rowsOf('t_left'), {
          method: 'PUT',
          headers: { 'Content-Type': 'text/csv' },
          body: many,
          signal: gone.signal,
        })
        await expect(sent).rejects.toThrow('aborted')
      },
    )
    // Comes after them.
    expect((await put('t_left', 'id\na,b\n')).status).toBe(400)
    expect(await csv('t_left')).toBe('id\n"old"\n')
    expect(await put('t_left', many)).toMatchObject({ status: 200, body: { rows: 50_000 } })
  })

  test('are never missing while they are replaced', async () => {
    await create('t_steady')
    await put('t_steady', 'id\na\nb\n')
    const replacing = (async () => {
      for (let n = 0; n < 5; n++) expect((await put('t_steady', `id\na${n}\nb${n}\n`)).status).toBe(200)
    })()
    const counts = new Set<unknown>()
    for (let n = 0; n < 20; n++) counts.add(JSON.stringify(await sql('SELECT count() AS n FROM t_steady')))
    await replacing
    expect([...counts]).toEqual(['[{"n":2}]'])
  })

  test.each([
    ['an empty body', '', 400, 'The body is empty'],
    ['a repeated column', 'id,id\n1,2\n', 400, 'id is there twice'],
    ['a column without a name', 'id,\n1,2\n', 400, 'column name ""'],
    ['a column that SQL cannot name', 'id,_tenant\n1,2\n', 400, 'column name "_tenant"'],
    [
      'too many columns',
      `${Array.from({ length: 10_000 }, (_, n) => `c${n}`).join(',')}\n`,
      400,
      '10000 columns',
    ],
    ['a row with too many fields', 'id\na,b\n', 400, 'Row 2 has 2 fields'],
    ['a header of commas', ','.repeat(100_000), 400, 'Row 1 has more than 20000 fields'],
    ['a long value', `id\n${'""'.repeat(600_000)}`, 400, 'more than 1048576 characters'],
    ['a long row', `${nine('c')}\n${nine('x'.repeat(1_000_000))}`, 400, 'Row 2 is longer than 8 MiB'],
    ['a column that is no project', 'id,Project\n1,a\n', 400, 'project and Project differ only in case'],
    ['names that differ only in case', 'Id,id\n1,a\n', 400, 'Id and id differ only in case'],
    ['a quote that is not closed', 'id\n"a\n', 400, 'quote that is not closed'],
    ['text after a quote', 'id\n"a"b\n', 400, 'text after a closing quote'],
    ['a body that is too large', `id\n${'x'.repeat(64 * 2 ** 20)}`, 413, '64 MiB'],
    ['too many rows', `id\n${'1\n'.repeat(1_000_001)}`, 400, 'at most 1000000 rows'],
  ])('with %s are refused, and the old ones stay', async (_what, rows, status, message) => {
    await create('t_refused')
    await put('t_refused', 'id\nold\n')
    const refused = await put('t_refused', rows)
    expect([refused.status, refused.body.error?.message]).toEqual([status, expect.stringContaining(message)])
    expect(await csv('t_refused')).toBe('id\n"old"\n')
  })

  test.each([
    ['an object with many members', `{"a":1${',"a":1'.repeat(20_000)}}`, 'Row 1 has more than 20000 members'],
    ['a deep value', `{"a":${'['.repeat(100_000)}`, 'Row 1: a must be text'],
    ['lines that are blank', '\n'.repeat(1_000_000), 'The rows have no columns'],
    ['too many lines', '{}\n'.repeat(1_000_001), 'at most 1000000 rows'],
    ['text after an object', '{"id":1} x\n', 'Row 1 is not a JSON object'],
  ])('as lines with %s are refused', async (_what, rows, message) => {
    await create('t_lines')
    const refused = await put('t_lines', rows, 'application/x-ndjson')
    expect([refused.status, refused.body.error?.message]).toEqual([400, expect.stringContaining(message)])
  })

  test('have columns that differ by more than case, also if they are declared', async () => {
    const columns = ['Project', 'project'].map((name) => ({ name, type: 'text' }))
    const { status, body } = await create('t_case', { columns })
    expect([status, body.error.message]).toEqual([400, expect.stringContaining('differ only in case')])
  })

  test('are named by the error of a join that takes too long', async () => {
    await create('t_many')
    await put('t_many', `n\n${Array.from({ length: 20_000 }, (_, n) => n).join('\n')}`)
    const query = 'SELECT count() AS n FROM t_many AS a, t_many AS b, t_many AS c WHERE a.n + b.n + c.n = -1'
    await endpoint('t-many', query, { timeout_seconds: 1 })
    const { status, body } = await call(service.adminToken.token, 't-many')
    expect([status, body.error]).toMatchObject([
      504,
      { code: 'query_timeout', message: expect.stringContaining('reads t_many') },
    ])
  })

  test('of JSON have texts that stay texts', async () => {
    await create('t_texts')
    const { body } = await put('t_texts', '[{"v":"1.10","at":"2026-01-02T00:00:00Z"}]', 'application/json')
    expect(body.columns).toEqual([
      { name: 'v', type: 'text' },
      { name: 'at', type: 'timestamp' },
    ])
  })

  test('keep their digits, or are refused', async () => {
    await create('t_digits', { columns: [{ name: 'id', type: 'text' }] })
    const large = await put('t_digits', '[{"id":12345678901234567890}]', 'application/json')
    expect([large.status, large.body.error?.message]).toEqual([
      400,
      'Row 1: id is too large for a JSON number. Send it as text.',
    ])
    expect((await put('t_digits', '[{"id":1.5},{"id":9007199254740991}]', 'application/json')).status).toBe(
      200,
    )
    expect(await sql('SELECT * FROM t_digits ORDER BY id')).toEqual([
      { id: '1.5' },
      { id: '9007199254740991' },
    ])
  })

  test('of other types are refused', async () => {
    await create('t_types')
    for (const [type, rows, status] of [
      ['application/json', '{"id":1}', 400],
      ['application/json', '[{"id":1}', 400],
      ['application/json', '[{"id":{"a":1}}]', 400],
      ['application/json', '[]', 400],
      ['application/x-ndjson', '[1]\n', 400],
      ['text/plain', 'id\n1\n', 415],
    ] as const) {
      expect([rows, (await put('t_types', rows, type)).status]).toEqual([rows, status])
    }
    const invalid = await fetch(service.url + rowsOf('t_types'), {
      method: 'PUT',
      headers: { 'X-API-KEY': service.adminToken.token, 'Content-Type': 'text/csv' },
      body: Buffer.from([0x69, 0x64, 0x0a, 0xff, 0x0a]),
    })
    expect(invalid.status).toBe(400)
    expect((await put('t_nothing', 'id\n1\n')).status).toBe(404)
  })
})

describe('declared columns', () => {
  test('are what rows must have, and another type converts the rows', async () => {
    const columns = [
      { name: 'id', type: 'text' },
      { name: 'n', type: 'text' },
    ]
    await create('t_declared', { columns })
    expect(await sql('SELECT count() AS n FROM t_declared')).toEqual([{ n: 0 }])
    expect((await put('t_declared', 'id,m\na,1\n')).body.error.message).toContain('Unknown column m')
    expect((await put('t_declared', 'id\na\n')).body.error.message).toContain('n is missing')
    await put('t_declared', 'id,n\na,1\nb,many\n')
    const numbers = [columns[0], { name: 'n', type: 'number' }, { name: 'on', type: 'boolean' }]
    const changed = await admin('PATCH', '/api/tables/t_declared', { columns: numbers })
    expect([changed.status, changed.body.version]).toEqual([200, 2])
    expect(await sql('SELECT * FROM t_declared ORDER BY id')).toEqual([
      { id: 'a', n: 1, on: null },
      { id: 'b', n: null, on: null },
    ])
    expect((await put('t_declared', 'id,n,on\na,x,true\n')).body.error.message).toBe(
      'Row 2: n must be a number, not "x".',
    )
  })
})

describe('the column project', () => {
  test.each(['told', 'declared'])('that is %s is removed only if the caller insists', async (how) => {
    const name = `t_lost_${how}`
    const [project, v] = ['project', 'v'].map((column) => ({ name: column, type: 'text' }))
    await create(name, { columns: how === 'told' ? [] : [project, v] })
    await put(name, 'project,v\nmine,a\nyours,b\n')
    await endpoint(`lost-${how}`, `SELECT v FROM ${name} ORDER BY v`, { published: true })
    const { token } = await makeToken(service, { scopes: ['query'], project: 'mine' })
    const change = (more = '') =>
      how === 'told'
        ? put(name, 'v\na\nb\n', 'text/csv', more)
        : admin('PATCH', `/api/tables/${name}${more}`, { columns: [v] })
    const refused = await change()
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([
      409,
      expect.stringContaining('tenants would see all rows'),
    ])
    expect((await call(token, `lost-${how}`)).body.result).toEqual([{ v: 'a' }])
    expect((await change('?breaking=true')).status).toBe(200)
    expect((await call(token, `lost-${how}`)).body.result).toEqual([{ v: 'a' }, { v: 'b' }])
  })
})

describe('a table', () => {
  test('with other columns gives those that read it their new columns, or names them', async () => {
    const [id, n, m] = ['id', 'n', 'm'].map((name) => ({ name, type: 'text' }))
    await create('t_read', { columns: [id, n] })
    await endpoint('t-read.id', 'SELECT id FROM t_read')
    await endpoint('t-read.n', 'SELECT n FROM t_read')
    await endpoint('t-read.all', 'SELECT * FROM t_read')
    await endpoint('t-read.outer', 'SELECT * FROM `t-read.n`')
    const change = (more: string, ...columns: unknown[]) =>
      admin('PATCH', `/api/tables/t_read${more}`, { columns })
    const names = async () =>
      (await admin('GET', '/api/endpoints/t-read.all')).body.columns.map(
        (column: { name: string }) => column.name,
      )
    expect((await change('', id, n, m)).status).toBe(200)
    expect(await names()).toEqual(['id', 'n', 'm'])
    const refused = await change('', id, m)
    const text = JSON.stringify(refused.body)
    expect([refused.status, text]).toEqual([409, expect.stringContaining('t-read.n would no longer work')])
    expect(text).toContain('t-read.outer would no longer work')
    expect(text).not.toContain('t-read.id')
    expect((await change('?breaking=true', id, m)).status).toBe(200)
    expect(await names()).toEqual(['id', 'm'])
  })

  test('shares its name with no source, alias, endpoint or table', async () => {
    await endpoint('t_taken', 'SELECT 1 AS one')
    await create('t_taker')
    for (const name of ['edge_logs', 'postgres_logs', 't_taken', 't_taker']) {
      expect([name, (await create(name)).status]).toEqual([name, 409])
    }
    for (const name of ['_catalog', 'system', 'Upper', 'x_local']) {
      expect([name, (await create(name)).status]).toEqual([name, 400])
    }
    expect((await admin('POST', '/api/sources', { name: 't_taker' })).status).toBe(409)
    expect((await endpoint('t_taker', 'SELECT 1 AS one')).status).toBe(409)
    const source = (fields: object) => admin('POST', '/api/sources', fields)
    expect((await source({ name: 't_taken' })).body.error).toMatchObject({
      code: 'name_taken',
      message: 'The name "t_taken" is already taken by an endpoint. Choose another.',
    })
    expect((await source({ name: 't_aliased', aliases: ['t_taker'] })).status).toBe(409)
    expect((await source({ name: 't_aliased', aliases: ['t-taken.a'] })).status).toBe(201)
    for (const aliases of [['t_taken'], ['t_taker']])
      expect((await admin('PATCH', '/api/sources/t_aliased', { aliases })).status).toBe(409)
    for (const name of ['t_aliased', 't-taken.a', 'cloudflare.logs.prod', 'edge_logs'])
      expect([name, (await endpoint(name, 'SELECT 1 AS one')).status]).toEqual([name, 409])
    expect((await endpoint('T_aliased', 'SELECT 1 AS one')).status).toBe(201)
  })

  test('hands its name on in one deployment, unless an endpoint would then read something else', async () => {
    const deploy = (body: object) => admin('POST', '/api/deployments', { allow_breaking: true, ...body })
    const both = { sources: [{ name: 't_swap' }], endpoints: [{ name: 't_swap', query: 'SELECT 1 AS one' }] }
    expect((await deploy(both)).body.error.code).toBe('name_taken')
    const { id } = (await endpoint('t_swap', 'SELECT 1 AS one')).body
    const reader = (await endpoint('t_swap.reader', 'SELECT 1 AS n FROM `t_swap`')).body
    const renamed = {
      sources: [{ name: 't_swap' }],
      endpoints: [{ id, name: 't_swapped', query: 'SELECT 1 AS one' }],
    }
    const refused = await deploy(renamed)
    expect(refused.body.error).toMatchObject({ code: 'in_use', users: ['endpoints/t_swap.reader'] })
    expect((await admin('DELETE', '/api/endpoints/t_swap')).body.error.code).toBe('in_use')
    const other = { id: reader.id, name: 't_swap.reader', query: 'SELECT 1 AS n FROM t_swap' }
    expect((await deploy({ ...renamed, endpoints: [...renamed.endpoints, other] })).status).toBe(200)
    const restored = await admin('POST', '/api/endpoints/t_swapped/versions/1/restore')
    expect(restored.body.error.code).toBe('name_taken')
  })

  test('is created with an endpoint that reads it, and cannot be deleted while one does', async () => {
    const columns = [{ name: 'id', type: 'text' }]
    const both = {
      tables: [{ name: 't_both', columns }],
      endpoints: [{ name: 't-both', query: 'SELECT id FROM t_both' }],
    }
    const planned = await admin('POST', '/api/deployments', { ...both, dry_run: true })
    expect([planned.status, (await admin('GET', '/api/tables/t_both')).status]).toEqual([200, 404])
    expect((await admin('POST', '/api/deployments', both)).status).toBe(200)
    await put('t_both', 'id\na\n')
    const used = await admin('DELETE', '/api/tables/t_both')
    expect(used).toMatchObject({
      status: 409,
      body: { error: { code: 'in_use', users: ['endpoints/t-both'] } },
    })
    const gone = { delete: { tables: ['t_both'], endpoints: ['t-both'] }, allow_breaking: true }
    expect((await admin('POST', '/api/deployments', gone)).status).toBe(200)
    await create('t_both', { columns })
    expect(await sql('SELECT * FROM t_both')).toEqual([])
  })
})

describe('a tenant', () => {
  const view = (table: string) => `WITH v AS (SELECT * FROM ${table}) SELECT * FROM v ORDER BY ALL`

  test('sees the rows of its project in a table that has them', async () => {
    await create('t_own')
    await put('t_own', "project,secret\nmine,a\nyours,b\n,c\n*,d\n'x,e\n")
    await endpoint('t-own', 'SELECT * FROM t_own ORDER BY ALL', { published: true })
    await endpoint('t-own.sandbox', view('t_own'), { sandbox: true, published: true })
    const { token } = await makeToken(service, { scopes: ['query'], project: 'mine' })
    const mine = [{ project: 'mine', secret: 'a' }]
    expect((await call(token, 't-own')).body.result).toEqual(mine)
    expect((await call(token, 't-own.sandbox')).body.result).toEqual(mine)
    const own = await call(token, 't-own.sandbox', `?sql=${encodeURIComponent('SELECT * FROM v')}`)
    expect(own.body.result).toEqual(mine)
    const star = await makeToken(service, { scopes: ['query'], project: '*' })
    expect((await call(star.token, 't-own')).body.result).toEqual([{ project: '*', secret: 'd' }])
  })

  test('sees a table without projects through saved SQL, and not with SQL of its own', async () => {
    await create('t_shared')
    await put('t_shared', 'id\na\n')
    await endpoint('t-shared.sandbox', view('t_shared'), { sandbox: true, published: true })
    const { token } = await makeToken(service, { scopes: ['query'], project: 'mine' })
    expect((await call(token, 't-shared.sandbox')).body.result).toEqual([{ id: 'a' }])
    for (const text of ['SELECT * FROM v', 'SELECT count() AS n FROM (SELECT 1 FROM v)']) {
      const own = await call(token, 't-shared.sandbox', `?sql=${encodeURIComponent(text)}`)
      expect(own).toMatchObject({ status: 403, body: { error: { code: 'forbidden' } } })
      expect(own.body.error.message).toContain('t_shared')
    }
    const others = `?sql=${encodeURIComponent('SELECT * FROM v')}`
    expect((await call(service.adminToken.token, 't-shared.sandbox', others)).body.result).toEqual([
      { id: 'a' },
    ])
    // The rows that are there decide, also if they were replaced by those of projects.
    await put('t_shared', 'id,project\nb,yours\n', 'text/csv', '?breaking=true')
    expect((await call(token, 't-shared.sandbox')).body.result).toEqual([])
  })

  test('sees no rows of others while the rows are replaced', async () => {
    await create('t_moving')
    const rows = `project,secret\n${'mine,a\nyours,b\n'.repeat(50)}`
    await put('t_moving', rows)
    await endpoint('t-moving', view('t_moving'), { sandbox: true, published: true })
    const { token } = await makeToken(service, { scopes: ['query'], project: 'mine' })
    const seen = new Set<unknown>()
    let isReplacing = true
    const readers = [1, 2, 3, 4].map(async (reader) => {
      for (let n = 0; isReplacing; n++) {
        const text = `SELECT uniqExact(secret) AS secrets, count() AS n FROM v WHERE secret != '${reader} ${n}'`
        const { body } = await call(token, 't-moving', `?sql=${encodeURIComponent(text)}`)
        seen.add(JSON.stringify(body.result ?? body.error))
      }
    })
    for (let n = 0; n < 12; n++) expect((await put('t_moving', rows)).status).toBe(200)
    isReplacing = false
    await Promise.all(readers)
    expect([...seen]).toEqual(['[{"secrets":1,"n":50}]'])
  })

  test('can neither see nor change the tables themselves', async () => {
    await create('t_managed')
    const { token } = await makeToken(service, { scopes: ['query', 'search'], project: 'mine' })
    for (const path of ['/api/tables', '/api/tables/t_managed', rowsOf('t_managed')]) {
      expect([path, (await ask(service, token, 'GET', path)).status]).toEqual([path, 403])
    }
    const headers = { 'Content-Type': 'text/csv' }
    expect((await ask(service, token, 'PUT', rowsOf('t_managed'), 'id\n1\n', headers)).status).toBe(403)
  })
})
