import { beforeAll, describe, expect, test } from 'vitest'
import type { RunningService } from '../../support/service.ts'
import { sharedService } from '../../support/shared-service.ts'

type Body = {
  result?: Record<string, unknown>[]
  error?: Record<string, unknown> & { code: string; message: string }
}

describe('endpoints over endpoints', () => {
  let service: RunningService
  sharedService((shared) => {
    service = shared
  })

  const json = async (path: string, method: string, body: unknown) => {
    const headers = { 'Content-Type': 'application/json' }
    const response = await service.call(path, { method, headers, body: JSON.stringify(body) })
    return { status: response.status, body: (await response.json()) as Body & Record<string, unknown> }
  }
  const save = (name: string, query: string, parameters: object = {}, rest: object = {}) =>
    json('/api/endpoints', 'POST', { name, query, parameters, ...rest })
  const create = async (...endpoint: Parameters<typeof save>) => {
    const { body } = await save(...endpoint)
    expect(body, endpoint[0]).not.toHaveProperty('error')
  }
  const refusal = async (...endpoint: Parameters<typeof save>) => (await save(...endpoint)).body.error
  const change = (name: string, fields: object, search = '') =>
    json(`/api/endpoints/${name}${search}`, 'PATCH', fields)
  const call = async (name: string, search = '', headers: Record<string, string> = {}) => {
    const response = await service.call(`/api/endpoints/query/${name}${search}`, { headers })
    return (await response.json()) as Body
  }
  const rows = async (...called: Parameters<typeof call>) => {
    const { result, error } = await call(...called)
    return result ?? error?.message
  }

  beforeAll(async () => {
    await json('/api/logs?source=edge_logs', 'POST', [
      {
        id: 'nested-1',
        project: 'nested-a',
        event_message: 'one',
        metadata: { n: 1, response: { status_code: 200 } },
      },
      {
        id: 'nested-2',
        project: 'nested-a',
        event_message: 'two',
        metadata: { n: 2, response: { status_code: 404 } },
      },
      {
        id: 'nested-3',
        project: 'nested-b',
        event_message: 'three',
        metadata: { n: 3, response: { status_code: 404 } },
      },
    ])
    await create(
      'nested.by-status',
      `WITH entries AS (SELECT id, metadata.response.status_code::Nullable(Int32) AS status FROM edge_logs WHERE project = @project)
       SELECT status, count() AS requests FROM entries WHERE (@least IS NULL OR status >= @least) GROUP BY status`,
      { project: { required: true }, least: { type: 'integer' } },
    )
    await create('nested.outer', 'SELECT status, requests FROM `nested.by-status` ORDER BY status', {
      project: { required: true },
      least: { type: 'integer' },
    })
  })

  test('read the rows of the inner one, with parameters of the same name', async () => {
    expect(await rows('nested.outer', '?project=nested-a')).toEqual([
      { status: 200, requests: 1 },
      { status: 404, requests: 1 },
    ])
    expect(await rows('nested.outer', '?project=nested-a&least=300')).toEqual([{ status: 404, requests: 1 }])
    expect(await rows('nested.outer', '?project=nested-b')).toEqual([{ status: 404, requests: 1 }])
    expect(await rows('nested.outer', '?project=nested-b&least=x')).toContain('least must be a whole number')
  })

  test('are listed on both sides', async () => {
    const get = async (name: string) => (await service.call(`/api/endpoints/${name}`)).json()
    expect(await get('nested.outer')).toMatchObject({ reads_endpoints: ['nested.by-status'] })
    const { read_by_endpoints } = (await get('nested.by-status')) as { read_by_endpoints: string[] }
    expect(read_by_endpoints).toContain('nested.outer')
  })

  test('keep names apart, on both sides', async () => {
    // The subquery of the inner one has the name of one of the outer one, and so does the alias.
    const query = `WITH entries AS (SELECT 7 AS n) SELECT s.status, requests, (SELECT n FROM entries) AS n
      FROM \`nested.by-status\` AS s JOIN (SELECT 404 AS status) AS wanted ON s.status = wanted.status`
    await create('nested.names', query, { project: { required: true } })
    expect(await rows('nested.names', '?project=nested-a')).toEqual([{ status: 404, requests: 1, n: 7 }])
    const hidden = 'WITH edge_logs AS (SELECT 1 AS id) SELECT * FROM `nested.by-status`, edge_logs'
    expect(await refusal('nested.hidden', hidden, { project: { required: true } })).toMatchObject({
      code: 'invalid_query',
      message:
        'nested.by-status reads the source edge_logs, and a subquery here has that name. Rename the subquery.',
    })
    expect(
      await refusal('nested.leak', 'SELECT * FROM `nested.by-status`, entries', {
        project: { required: true },
      }),
    ).toMatchObject({ code: 'invalid_query' })
  })

  test('have subqueries with the names of those around them, or of those beside them', async () => {
    const inner = (
      n: number,
    ) => `WITH base AS (SELECT ${n} AS n), other AS (SELECT n FROM base AS b WHERE b.n IN base)
      SELECT base.n AS n, n IN (base) AS one, in(n, base) AS two FROM base JOIN other USING (n)`
    await create('nested.first', inner(1))
    await create('nested.second', `WITH base AS (SELECT n FROM \`nested.first\`) SELECT n + 1 AS n FROM base`)
    expect(await rows('nested.second')).toEqual([{ n: 2 }])
    const query = `WITH base AS (SELECT * FROM \`nested.first\`), other AS (SELECT n, base.n AS m FROM \`nested.second\`, base)
      SELECT other.n AS n, m, base.one AS one, b.two AS two, b.n AS again FROM other, base, \`nested.first\` AS b`
    await create('nested.third', query)
    expect(await rows('nested.third')).toEqual([{ n: 2, m: 1, one: 1, two: 1, again: 1 }])
    await create(
      'nested.fourth',
      'WITH base AS (SELECT n, again FROM `nested.third` AS base) SELECT * FROM base',
    )
    expect(await rows('nested.fourth')).toEqual([{ n: 2, again: 1 }])
    const absent = await refusal(
      'nested.absent',
      'WITH base AS (SELECT x FROM `nested.first`) SELECT * FROM base',
    )
    expect(absent?.message).toContain('There is no column x.')
  })

  test('are read more than once, with qualified columns and over several levels', async () => {
    const query = `SELECT a.status AS status, \`nested.by-status\`.requests + a.requests AS twice
      FROM \`nested.by-status\` JOIN \`nested.outer\` AS a ON a.status = \`nested.by-status\`.status ORDER BY status`
    await create('nested.twice', query, { project: { required: true } })
    expect(await rows('nested.twice', '?project=nested-a')).toEqual([
      { status: 200, twice: 2 },
      { status: 404, twice: 2 },
    ])
  })

  test('take their own defaults for parameters that the outer one does not have', async () => {
    await create('nested.default', 'SELECT @shown AS shown', { shown: { default: 'preset' } })
    await create('nested.without', 'SELECT shown FROM `nested.default`')
    await create('nested.with', 'SELECT shown, @shown AS own FROM `nested.default`', {
      shown: { default: 'mine' },
    })
    expect(await rows('nested.without', '?shown=sent')).toEqual([{ shown: 'preset' }])
    expect(await rows('nested.with')).toEqual([{ shown: 'mine', own: 'mine' }])
    expect(await rows('nested.with', '?shown=sent')).toEqual([{ shown: 'sent', own: 'sent' }])
  })

  test('refuse what cannot be expanded, with a position', async () => {
    expect(await refusal('nested.missing', 'SELECT 1 AS n,\n  2 AS m FROM `nested.by-status`')).toMatchObject(
      {
        message: 'nested.by-status requires the parameter project. Declare it here to hand it on.',
        line: 2,
      },
    )
    await create('nested.needy', 'SELECT @a AS a, @b AS b', { a: { required: true }, b: { required: true } })
    const all = await refusal('nested.missing', 'SELECT 1 AS n FROM `nested.needy`, `nested.by-status`', {
      b: {},
    })
    expect(all?.message).toBe(
      'nested.needy requires the parameter a. nested.by-status requires the parameter project. Declare them here to hand them on.',
    )
    expect((await refusal('nested.unknown', 'SELECT * FROM `nested.by-statuss`'))?.message).toContain(
      'Did you mean nested.by-status?',
    )
    expect(await refusal('nested.bare', 'SELECT\n * FROM "nested.outer"')).toMatchObject({
      message: 'nested.outer is an endpoint. Read it with FROM `nested.outer`.',
      line: 2,
    })
    await create('nested.audit', 'SELECT count() AS n FROM audit_events')
    const audit = await refusal('nested.reads-audit', 'SELECT * FROM `nested.audit`')
    expect([audit?.code, audit?.message]).toEqual([
      'invalid_query',
      expect.not.stringContaining('mean nested.audit'),
    ])
    const changed = await change('nested.default', { query: 'SELECT shown FROM `nested.with`' })
    expect(changed.body.error?.message).toContain('nested.default → nested.with → nested.default')
    const own = 'SELECT * FROM `nested.own`'
    expect((await refusal('nested.own', own))?.message).toContain('in a circle: nested.own → nested.own')
  })

  test('name all required parameters that a request omits, also those of inner ones', async () => {
    const inner = { b: { required: true }, c: { required: true }, d: { default: 'preset' } }
    await create('nested.required-inner', 'SELECT @b AS b, @c AS c, @d AS d', inner)
    await create('nested.required', 'SELECT b, @a AS a FROM `nested.required-inner` WHERE @e IS NULL', {
      a: { required: true, enum: ['x', 'y'] },
      ...{ b: { required: true }, c: {}, d: {}, e: { type: 'integer' } },
    })
    expect((await call('nested.required', '?b=1')).error).toMatchObject({
      code: 'missing_parameter',
      message: 'Parameters "a", "c" are required.',
      parameter: 'a',
      allowed: ['x', 'y'],
    })
    expect(await rows('nested.required')).toBe('Parameters "a", "b", "c" are required.')
    expect(await rows('nested.required', '?a=x&b=1')).toBe('Parameter "c" is required.')
    expect(await rows('nested.required', '?a=x&b=1&c=2')).toEqual([{ b: '1', a: 'x' }])
    const unsaved = { query: 'SELECT @a AS a, @b AS b', parameters: {} }
    expect((await json('/api/sql', 'POST', unsaved)).body.error?.message).toBe(
      'Parameters "a", "b" are required.',
    )
  })

  test('use the parameters that are handed on, and warn about others', async () => {
    const parameters = { project: { required: true }, least: { type: 'integer' }, unused: {} }
    const { body } = await save('nested.warned', 'SELECT requests FROM `nested.by-status`', parameters)
    expect(body.warnings).toMatchObject([
      { code: 'unused_parameter', message: expect.stringContaining('The parameter unused is') },
    ])
  })

  test('hand on parameters of the same type', async () => {
    const number = { type: 'integer', default: 1 }
    await create('nested.typed', 'SELECT @n AS n, @l AS l', { n: number, l: { type: 'list', of: 'number' } })
    const read = 'SELECT n, l\nFROM `nested.typed`'
    const types = 'nested.typed takes the parameter'
    expect(await refusal('nested.other', read, { n: { type: 'string' } })).toMatchObject({
      code: 'invalid_query',
      message: `${types} n with the type integer, and here it has the type string. Declare the same type.`,
      line: 2,
    })
    for (const n of [{ type: 'list', of: 'number' }, { type: 'number' }])
      expect((await refusal('nested.other', read, { n }))?.message).toContain(types)
    expect((await refusal('nested.other', read, { l: { type: 'list' } }))?.message).toContain(
      'list of string',
    )
    await create('nested.other', read, { n: number, l: { type: 'integer' } })
    expect(await rows('nested.other', '?l=5')).toEqual([{ n: 1, l: [5] }])
    expect(await rows('nested.other')).toEqual([{ n: 1, l: [] }])
    // Values of SQL that is not saved have the types of JSON, which has no timestamps.
    await create('nested.since', 'SELECT @at AS at', { at: { type: 'timestamp', required: true } })
    const sql = { query: "SELECT at FROM `nested.since` WHERE @at != ''", parameters: { at: '2026-01-02' } }
    expect((await json('/api/sql', 'POST', sql)).body.result).toEqual([{ at: '2026-01-02T00:00:00.000000Z' }])
  })

  test('hand on values that only some are allowed of', async () => {
    await create('nested.allowed', 'SELECT @r AS r', { r: { required: true, enum: ['a', 'b'] } })
    await create('nested.any', 'SELECT r FROM `nested.allowed`', { r: {} })
    await create('nested.undeclared', 'SELECT r FROM `nested.allowed` WHERE r = @r')
    expect(await rows('nested.any', '?r=b')).toEqual([{ r: 'b' }])
    expect(await rows('nested.undeclared', '?r=b')).toEqual([{ r: 'b' }])
    expect(await rows('nested.any', '?r=c')).toBe('r must be one of a, b.')
  })

  test('are at most five levels deep', async () => {
    await create('nested.level1', 'SELECT 1 AS n')
    for (let level = 2; level <= 5; level++)
      await create(`nested.level${level}`, `SELECT n + 1 AS n FROM \`nested.level${level - 1}\``)
    expect(await rows('nested.level5')).toEqual([{ n: 5 }])
    const deeper = await refusal('nested.level6', 'SELECT n FROM `nested.level5`')
    expect(deeper?.message).toContain('at most 5 levels')
  })

  test('name the inner endpoint and its line in errors', async () => {
    await create('nested.fails', "SELECT 1 AS n,\n  @text AS text,\n  toInt32('1') AS number", { text: {} })
    const query = 'SELECT number, absent FROM `nested.fails`'
    expect((await refusal('nested.column', query))?.message).toContain('absent')
  })

  test('follow changes of the inner one, whose results were cached', async () => {
    await create('nested.inner', 'SELECT 1 AS n')
    await create('nested.cached', 'SELECT n FROM `nested.inner`', {}, { cache_seconds: 900 })
    await create('nested.all', 'SELECT * FROM `nested.inner`', {}, { cache_seconds: 900 })
    expect(await rows('nested.cached')).toEqual([{ n: 1 }])
    expect(await rows('nested.all')).toEqual([{ n: 1 }])
    expect((await change('nested.inner', { query: "SELECT 2 AS n, 'x' AS added" })).status).toBe(200)
    expect(await rows('nested.cached')).toEqual([{ n: 2 }])
    expect(await rows('nested.all')).toEqual([{ n: 2, added: 'x' }])
    const { version, columns } = (await json('/api/endpoints/nested.all', 'PATCH', {})).body
    expect([version, columns]).toMatchObject([3, [{ name: 'n' }, { name: 'added' }]])
  })

  test('are named by a change that breaks them, and say why once it was made', async () => {
    await create('nested.base', 'SELECT 1 AS n, 2 AS m')
    await create('nested.user', 'SELECT m FROM `nested.base`')
    const refused = await change('nested.base', { query: 'SELECT 1 AS n' })
    expect(refused).toMatchObject({ status: 409, body: { error: { code: 'breaking_change' } } })
    expect(JSON.stringify(refused.body)).toContain('endpoints/nested.user would no longer work')
    const deleted = await service.call('/api/endpoints/nested.base', { method: 'DELETE' })
    expect([deleted.status, await deleted.text()]).toMatchObject([
      409,
      expect.stringContaining('nested.user'),
    ])
    expect((await change('nested.base', { query: 'SELECT 1 AS n' }, '?breaking=true')).status).toBe(200)
    expect(await call('nested.user')).toMatchObject({ error: { code: 'invalid_query' } })
    // Lists and documents still show it.
    expect((await service.call('/openapi.json')).status).toBe(200)
    expect((await service.call('/api/endpoints')).status).toBe(200)
  })

  test('are deployed together, in any order', async () => {
    const endpoints = [
      { name: 'nested.deployed-outer', query: 'SELECT n FROM `nested.deployed-inner`' },
      { name: 'nested.deployed-inner', query: 'SELECT 5 AS n' },
    ]
    const { status } = await json('/api/deployments', 'POST', { endpoints })
    expect(status).toBe(200)
    expect(await rows('nested.deployed-outer')).toEqual([{ n: 5 }])
    const circle = endpoints.map(({ name }, at) => ({
      name,
      query: `SELECT n FROM \`${endpoints[1 - at]?.name}\``,
    }))
    const refused = await json('/api/deployments', 'POST', { endpoints: circle, allow_breaking: true })
    expect(refused.status).toBe(422)
    const three = ['a', 'b', 'c'].map((name, at, { length }) => ({
      name: `nested.new-${name}`,
      query: `SELECT 1 AS n FROM \`nested.new-${'abc'[(at + 1) % length]}\``,
    }))
    const circular = await json('/api/deployments', 'POST', { endpoints: three })
    expect([circular.status, circular.body.error?.message]).toEqual([
      422,
      expect.stringContaining('in a circle: nested.new-a → nested.new-b → nested.new-c → nested.new-a'),
    ])
  })

  test('show tenants rows of their project only, also through unpublished ones and in sandboxes', async () => {
    await create('nested.rows', 'SELECT id, project FROM edge_logs ORDER BY id LIMIT 2')
    await create('nested.published', 'SELECT id FROM `nested.rows` ORDER BY id', {}, { published: true })
    await create(
      'nested.sandbox',
      'WITH entries AS (SELECT id, project FROM `nested.rows`) SELECT id FROM entries',
      {},
      { published: true, sandbox: true },
    )
    const { body } = await json('/api/access-tokens', 'POST', {
      ...{ description: 'nested', scopes: ['query'], project: 'nested-b' },
    })
    const key = { 'X-API-KEY': String(body.token) }
    const get = async (path: string) =>
      (await fetch(`${service.url}/api/endpoints/query/${path}`, { headers: key })).json()
    expect(await get('nested.published')).toEqual({ result: [{ id: 'nested-3' }] })
    const sql = (text: string) => get(`nested.sandbox?sql=${encodeURIComponent(text)}`)
    expect(await sql('SELECT count() AS n, any(project) AS p FROM entries')).toEqual({
      result: [{ n: 1, p: 'nested-b' }],
    })
    // Whatever its subqueries are called.
    const named = async (name: string, used = name) =>
      sql(`WITH ${name} AS (SELECT project FROM entries) SELECT ${used}.project AS p FROM ${used}`)
    for (const name of ['_a', 'x_local', '"a b"', '`ä`', 'system', '`system.tables`'])
      expect([name, await named(name)]).toEqual([name, { result: [{ p: 'nested-b' }] }])
    const local = await sql('WITH edge_logs_local AS (SELECT 1 AS n) SELECT n FROM edge_logs_local')
    expect([
      { result: [{ n: 1 }] },
      { error: expect.objectContaining({ code: 'invalid_query' }) },
    ]).toContainEqual(local)
    const outOfScope = (name: string) => [
      `SELECT * FROM ${name} WHERE 1 IN (WITH ${name} AS (SELECT 1) SELECT * FROM ${name})`,
      `SELECT 1 IN ${name}, (WITH ${name} AS (SELECT 1 AS n) SELECT n FROM ${name}) AS n`,
    ]
    const tables = [
      'edge_logs',
      'edge_logs_local',
      '_catalog',
      '_projects',
      'system.tables',
      '`system.tables`',
    ]
    for (const text of [
      ...tables.flatMap(outOfScope),
      'WITH edge_logs AS (SELECT 1) SELECT * FROM edge_logs',
    ])
      expect([text, await sql(text)]).toMatchObject([text, { error: { code: 'invalid_query' } }])
    for (const out of ['`nested.rows`', '`nested.published`', 'edge_logs'])
      expect(await sql(`SELECT * FROM ${out}`)).toMatchObject({ error: { code: 'invalid_query' } })
    expect(await get('nested.rows')).toMatchObject({ error: { code: 'endpoint_not_found' } })
  })

  test('show tenants rows of their project only, whatever their subqueries are called', async () => {
    const query = `WITH _rows AS (SELECT project FROM edge_logs), "a b" AS (SELECT project FROM _rows), edge_logs_local AS (SELECT project FROM "a b"),
      views AS (SELECT project FROM edge_logs_local) SELECT project FROM views`
    await create('nested.oddly-named', query, {}, { published: true, sandbox: true })
    const outer =
      'WITH edge_logs_local AS (SELECT project FROM `nested.oddly-named`) SELECT DISTINCT project AS p FROM edge_logs_local'
    await create('nested.odd-outer', outer, {}, { published: true })
    const { body } = await json('/api/access-tokens', 'POST', {
      ...{ description: 'oddly named', scopes: ['query'], project: 'nested-b' },
    })
    const key = { 'X-API-KEY': String(body.token) }
    const get = async (path: string) =>
      (await fetch(`${service.url}/api/endpoints/query/${path}`, { headers: key })).json()
    expect(await get('nested.odd-outer')).toEqual({ result: [{ p: 'nested-b' }] })
    expect(await get('nested.oddly-named')).toEqual({ result: [{ project: 'nested-b' }] })
    const sql = (text: string) => get(`nested.oddly-named?sql=${encodeURIComponent(text)}`)
    expect(await sql('SELECT project FROM views')).toEqual({ result: [{ project: 'nested-b' }] })
    // Subqueries with other names than those of views are the endpoint's own.
    for (const name of ['_rows', '"a b"', 'edge_logs_local', '_named_1__rows', '_named_2__rows'])
      expect([name, await sql(`SELECT * FROM ${name}`)]).toMatchObject([
        name,
        { error: { code: 'invalid_query' } },
      ])
    expect(await sql('WITH _rows AS (SELECT 1 AS n) SELECT n, project FROM _rows, views')).toEqual({
      result: [{ n: 1, project: 'nested-b' }],
    })
  })

  test('get what a token fixes, also if it is not handed on', async () => {
    const tier = { tier: {} }
    await create('nested.fixed', "SELECT id FROM edge_logs WHERE @tier IS NULL OR @tier = 'x' LIMIT 1", tier)
    await create('nested.between', 'SELECT id FROM `nested.fixed`', {}, { cache_seconds: 60 })
    await create('nested.around', 'SELECT id FROM `nested.between`', tier)
    const { body } = await json('/api/access-tokens', 'POST', {
      ...{ description: 'fixed', scopes: ['query'], parameters: { tier: 'FREE' } },
    })
    const key = { 'X-API-KEY': String(body.token) }
    for (const name of ['nested.fixed', 'nested.between', 'nested.around']) {
      expect([name, await rows(name)]).toMatchObject([name, [{}]])
      const response = await fetch(`${service.url}/api/endpoints/query/${name}`, { headers: key })
      expect([name, await response.json()]).toEqual([name, { result: [] }])
    }
  })

  test('bind at most 500 values with the endpoints that they read, and so does SQL that is not saved', async () => {
    const names = (prefix: string, count: number) =>
      Array.from({ length: count }, (_, index) => `${prefix}${index}`)
    const sum = (all: readonly string[]) =>
      `SELECT arraySum([${all.map((name) => `length(@${name})`).join()}]) AS n`
    const values = (all: readonly string[]) => Object.fromEntries(all.map((name) => [name, 'abc']))
    const most = names('p', 500)
    const full = await json('/api/sql', 'POST', { query: sum(most), parameters: values(most) })
    expect(full.body).toEqual({ result: [{ n: 1_500 }] })
    const tooMany = names('p', 501)
    const { status, body } = await json('/api/sql', 'POST', {
      query: sum(tooMany),
      parameters: values(tooMany),
    })
    expect([status, body.error?.code]).toEqual([422, 'invalid_query'])
    expect(body.error?.message).toContain('501 values')

    const some = names('p', 200)
    await create('nested.some', sum(some), Object.fromEntries(some.map((name) => [name, { default: 'abc' }])))
    expect(
      await refusal(
        'nested.toomany',
        'SELECT n FROM `nested.some` UNION ALL SELECT n FROM `nested.some` UNION ALL SELECT n FROM `nested.some`',
      ),
    ).toMatchObject({
      code: 'invalid_query',
      message: expect.stringMatching(/^The query has 600 values .* 500/),
    })
  })

  test('are read by SQL that is not saved', async () => {
    const query = 'SELECT requests FROM `nested.by-status` WHERE status = 404'
    const { body } = await json('/api/sql', 'POST', { query, parameters: { project: 'nested-a' } })
    expect(body).toEqual({ result: [{ requests: 1 }] })
    await create('draft', 'SELECT 1 AS n')
    expect((await json('/api/sql', 'POST', { query: 'SELECT n FROM `draft`' })).body.result).toEqual([
      { n: 1 },
    ])
  })
})
