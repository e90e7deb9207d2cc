import { expect, test } from 'vitest'
import { queryRows } from '../../../src/core/engine/json-rows.ts'
import type { SourcePath } from '../../../src/core/search/seen-paths.ts'
import { logClient } from '../../support/log-client.ts'
import type { RunningService } from '../../support/service.ts'

/** Sources of users, and typed columns. */
export function describeSources(running: () => RunningService): void {
  const { send } = logClient(running)

  test('creates, changes and deletes a source with its entries', async () => {
    const json = { 'Content-Type': 'application/json' }
    const create = (body: unknown) =>
      running().call('/api/sources', { method: 'POST', headers: json, body: JSON.stringify(body) })
    const made = await create({
      name: 'my_logs',
      retention_days: 7,
      aliases: ['my.logs'],
      columns: [{ name: 'level', path: 'level', type: 'text', searched: true }],
    })
    expect(made.status).toBe(201)
    expect(await made.json()).toMatchObject({ name: 'my_logs', version: 1, retention_days: 7 })
    expect((await create({ name: 'my_logs' })).status).toBe(409)
    expect((await create({ name: 'other', aliases: ['my.logs'] })).status).toBe(409)
    expect((await create({ name: 'No Good' })).status).toBe(400)
    expect((await create({ name: 'x', surprise: 1 })).status).toBe(400)
    expect((await send('my.logs', '{"metadata":{"level":"warn"}}')).body.accepted).toBe(1)
    const changed = await running().call('/api/sources/my_logs', {
      method: 'PATCH',
      headers: json,
      body: JSON.stringify({ retention_days: 30 }),
    })
    expect(await changed.json()).toMatchObject({ version: 2, retention_days: 30, aliases: ['my.logs'] })
    const unsure = await running().call('/api/sources/my_logs', { method: 'DELETE' })
    expect([unsure.status, await unsure.json()]).toMatchObject([400, { error: { parameter: 'confirm' } }])
    expect((await running().call('/api/sources/my_logs?confirm=my_logs', { method: 'DELETE' })).status).toBe(
      204,
    )
    expect((await running().call('/api/sources/my_logs')).status).toBe(404)
    expect((await send('my.logs', '{}')).status).toBe(404)
  })

  test('adds and drops the index of words, and finds the same words with and without it', async () => {
    const { engine } = running()
    const sources = (path: string, method: string, body: object) =>
      running().call(`/api/sources${path}`, {
        method,
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      })
    const indexes = async () => {
      const sql =
        "SELECT sum(name = '_text') AS indexes, (SELECT toUInt32(sum(secondary_indices_compressed_bytes)) FROM system.parts " +
        "WHERE active AND table = 'unindexed' AND database = currentDatabase()) > 0 AS filled " +
        "FROM system.data_skipping_indices WHERE table = 'unindexed' AND database = currentDatabase()"
      const [row] = await queryRows<{ indexes: string; filled: number }>(
        engine,
        { sql },
        { deadlineMs: 60_000 },
      )
      return [Number(row?.indexes), row?.filled]
    }
    const found = async () => {
      const query = 'INNER -outer'
      const entries = (await (await sources('/unindexed/search', 'POST', { query })).json()) as {
        id: string
      }[]
      return entries.map(({ id }) => id).sort()
    }
    const made = await sources('', 'POST', { name: 'unindexed', search_index: false })
    expect([made.status, await made.json()]).toMatchObject([201, { search_index: false }])
    await send(
      'unindexed',
      '[{"id":"a","metadata":{"k":["an inner\\nword"]}},{"id":"b","metadata":{"inner":"outer"}}]',
    )
    await send(
      'unindexed',
      '[{"id":"c","metadata":{"k":"xINNERx"}},{"id":"d","event_message":"inner outer"}]',
    )
    expect([await indexes(), await found()]).toEqual([
      [0, 0],
      ['a', 'c'],
    ])
    // Entries of before get the index.
    expect((await sources('/unindexed', 'PATCH', { search_index: true })).status).toBe(200)
    await expect.poll(indexes).toEqual([1, 1])
    expect(await found()).toEqual(['a', 'c'])
    expect((await sources('/unindexed', 'PATCH', { search_index: false })).status).toBe(200)
    await expect.poll(indexes).toEqual([0, 0])
    expect(await found()).toEqual(['a', 'c'])
    expect((await sources('/unindexed', 'PATCH', { search_index: 'no' })).status).toBe(400)
  })

  test('stores texts that are only compared in the form that is read fastest', async () => {
    const columns = [
      { name: 'color', path: 'color', type: 'text' },
      { name: 'url', path: 'url', type: 'text', searched: true },
      { name: 'size', path: 'size', type: 'number' },
    ]
    const headers = { 'Content-Type': 'application/json' }
    const body = JSON.stringify({ name: 'compressed', columns })
    expect((await running().call('/api/sources', { method: 'POST', headers, body })).status).toBe(201)
    const sql =
      "SELECT name, compression_codec AS codec FROM system.columns WHERE table = 'compressed' AND database = currentDatabase() " +
      "AND name IN ('metadata', 'color', 'url', 'size')"
    type Row = Record<'name' | 'codec', string>
    const rows = await queryRows<Row>(running().engine, { sql }, { deadlineMs: 60_000 })
    expect(Object.fromEntries(rows.map(({ name, codec }) => [name, codec]))).toEqual({
      metadata: 'CODEC(ZSTD(1))',
      color: 'CODEC(LZ4)',
      url: 'CODEC(ZSTD(1))',
      size: 'CODEC(ZSTD(1))',
    })
  })

  test('adds a typed column to a source with entries, fills it, and removes it', async () => {
    const manage = async (method: string, path: string, body?: object) => {
      const response = await running().call(path, {
        method,
        ...(body && { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }),
      })
      const text = await response.text()
      return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
    }
    await manage('POST', '/api/sources', { name: 'typed' })
    const sent = [{ size: 'L', n: 1 }, { size: 'S', n: '2' }, { n: {} }, {}]
    await send('typed', sent.map((item) => JSON.stringify({ metadata: { item } })).join('\n'))
    const fields = [
      { name: 'size', path: 'item.size', type: 'text', searched: true },
      { name: 'n', path: 'item.n', type: 'number' },
    ]
    // The engine would refuse the index only after the change is in the catalog.
    const numbers = [{ name: 'n', path: 'item.n', type: 'number', searched: true }]
    expect(await manage('PATCH', '/api/sources/typed', { columns: numbers })).toMatchObject({
      status: 400,
      body: {
        error: { parameter: 'columns', message: expect.stringContaining('only if their type is text') },
      },
    })
    const added = await manage('PATCH', '/api/sources/typed', { columns: fields })
    expect(added).toMatchObject({ status: 200, body: { version: 2, columns: fields } })
    const query = 'SELECT size, n FROM typed ORDER BY size, n'
    expect((await manage('POST', '/api/endpoints', { name: 'typed.sizes', query })).status).toBe(201)
    const rows = async () => (await manage('GET', '/api/endpoints/query/typed.sizes')).body.result
    const expected = [
      { size: '', n: null },
      { size: '', n: null },
      { size: 'L', n: 1 },
      { size: 'S', n: 2 },
    ]
    expect(await rows()).toEqual(expected)
    await send('typed', JSON.stringify({ metadata: { item: { size: 'XL', n: 3 } } }))
    expect(await rows()).toEqual([...expected, { size: 'XL', n: 3 }])
    const schema = async () => (await manage('GET', '/api/sources/typed/schema')).body
    await expect.poll(schema).toEqual([
      {
        ...{
          path: 'item.n',
          types: ['Int64', 'String'],
          cast: 'Nullable(String)',
          entries: 3,
          sampled: 5,
          paths: 2,
          column: 'n',
          filled: 1,
        },
        examples: expect.arrayContaining(['1', '2', '3']),
      },
      expect.objectContaining({
        path: 'item.size',
        types: ['String'],
        entries: 3,
        column: 'size',
        filled: 1,
        examples: expect.arrayContaining(['L', 'S', 'XL']),
      }),
    ])
    const moved = [fields[0], { name: 'n', path: 'item.m', type: 'number' }]
    expect((await manage('PATCH', '/api/sources/typed', { columns: moved })).status).toBe(200)
    await send('typed', JSON.stringify({ metadata: { item: { size: 'XXL', n: 4, m: 5 } } }))
    expect((await rows()).map(({ n }: { n: number | null }) => n)).toEqual([null, null, null, null, null, 5])
    const kept = await manage('PATCH', '/api/sources/typed', { columns: [fields[1] as object] })
    expect(kept).toMatchObject({ status: 400, body: { error: { parameter: 'columns' } } })
    expect(kept.body.error.message).toContain('typed.sizes')
    await manage('DELETE', '/api/endpoints/typed.sizes')
    const removed = await manage('PATCH', '/api/sources/typed', { columns: [] })
    expect(removed).toMatchObject({ status: 200, body: { version: 4, columns: [] } })
    const gone = await manage('POST', '/api/endpoints', { name: 'typed.sizes', query })
    expect(gone).toMatchObject({ status: 422, body: { error: { code: 'invalid_query' } } })
  })

  test('lists the most frequent paths, and says how many there are', async () => {
    const json = { 'Content-Type': 'application/json' }
    const columns = [{ name: 'seldom', path: 'z.seldom', type: 'text' }]
    const body = JSON.stringify({ name: 'many_paths', columns })
    expect((await running().call('/api/sources', { method: 'POST', headers: json, body })).status).toBe(201)
    const entries = Array.from({ length: 30 }, (_, entry) => ({
      metadata: {
        ...Object.fromEntries(Array.from({ length: 400 }, (_, key) => [`own_${entry}_${key}`, key])),
        ...{ 'z.common': { everywhere: entry }, ...(entry === 7 && { z: { seldom: 'yes' } }) },
      },
    }))
    expect((await send('many_paths', JSON.stringify(entries))).body.accepted).toBe(30)
    const schema = async () =>
      (await (await running().call('/api/sources/many_paths/schema')).json()) as SourcePath[]
    const listed = await schema()
    expect(listed).toHaveLength(1_000)
    expect(new Set(listed.map(({ paths, sampled }) => `${paths} ${sampled}`))).toEqual(new Set(['12002 30']))
    expect(listed).toContainEqual(
      expect.objectContaining({
        path: 'z%2Ecommon.everywhere',
        entries: 30,
        examples: [expect.any(String), expect.any(String), expect.any(String)],
      }),
    )
    expect(listed).toContainEqual(expect.objectContaining({ path: 'z.seldom', entries: 1, column: 'seldom' }))
    // Each path repeats the long key, so that a small entry would have paths of gigabytes.
    const children = Object.fromEntries(Array.from({ length: 4_800 }, (_, key) => [`k${key}`, 1]))
    const long = { ['x'.repeat(900_000)]: children }
    for (const metadata of [{ ...long, last: 1 }, { list: [long] }]) {
      expect((await send('many_paths', JSON.stringify({ metadata }))).body.accepted).toBe(1)
    }
    expect(await schema()).toContainEqual(expect.objectContaining({ path: 'last', entries: 1 }))
    const facets = await running().call('/api/sources/many_paths/facets', {
      method: 'POST',
      headers: json,
      body: '{}',
    })
    expect(facets.status).toBe(200)
  })

  test('keeps the results of saved endpoints when a column is declared, and they can be changed', async () => {
    const ask = async (method: string, path: string, body?: object) => {
      const headers = { 'Content-Type': 'application/json' }
      const init = body === undefined ? {} : { headers, body: JSON.stringify(body) }
      const response = await running().call(path, { method, ...init })
      return (await response.json()) as { version?: number; result: { path: string }[] }
    }
    await ask('POST', '/api/sources', { name: 'redacted_logs' })
    await send('redacted_logs', JSON.stringify({ metadata: { path: '/secret/42' } }))
    const path = 'metadata.path::String AS path'
    const queries = {
      alias: `SELECT replaceRegexpAll(metadata, '/secret/[0-9]+', '/redacted') AS metadata, ${path} FROM redacted_logs`,
      expression: `WITH replaceRegexpAll(metadata, '/secret/[0-9]+', '/redacted') AS metadata SELECT ${path} FROM redacted_logs`,
      table: `SELECT ${path} FROM redacted_logs AS _entries`,
      groups: `SELECT ${path} FROM redacted_logs GROUP BY metadata`,
    }
    for (const [name, query] of Object.entries(queries)) {
      const { version } = await ask('POST', '/api/endpoints', { name: `redacted.${name}`, query })
      expect([name, version]).toEqual([name, 1])
    }
    const results = async () => {
      const bodies = Object.keys(queries).map((name) => ask('GET', `/api/endpoints/query/redacted.${name}`))
      return (await Promise.all(bodies)).map(({ result }) => result[0]?.path)
    }
    const expected = ['/redacted', '/redacted', '/secret/42', '/secret/42']
    expect(await results()).toEqual(expected)
    const columns = [{ name: 'path', path: 'path', type: 'text' }]
    expect(await ask('PATCH', '/api/sources/redacted_logs', { columns })).toMatchObject({ version: 2 })
    expect(await results()).toEqual(expected)
    for (const name of Object.keys(queries)) {
      const changed = await ask('PATCH', `/api/endpoints/redacted.${name}`, { description: 'Redacted.' })
      expect([name, changed.version ?? changed]).toEqual([name, 2])
    }
  })

  test('reads a path with the same result with and without a typed column', async () => {
    const manage = async (method: string, path: string, body: object) => {
      const headers = { 'Content-Type': 'application/json' }
      const response = await running().call(path, { method, headers, body: JSON.stringify(body) })
      return { status: response.status, text: await response.text() }
    }
    const values = [
      ...[
        'null',
        '""',
        '"12"',
        '" 12"',
        '"1e3"',
        '"+5"',
        '"1."',
        '".5"',
        '"404.0"',
        '"0x10"',
        '"00012"',
        '"-1"',
      ],
      ...[
        '"abc"',
        '"true"',
        '"nan"',
        '"inf"',
        '"-inf"',
        '"NaN"',
        '"65536"',
        '"4294967296"',
        '"9007199254740993"',
      ],
      ...['0', '-0.0', '404', '404.0', '404.5', '-1', '-0.5', '65535.5', '70000', '1e2', '0.1', '1e-400'],
      ...[
        '0.30000000000000004',
        '16777217',
        '3.4e39',
        '2147483648',
        '9007199254740993',
        '18446744073709551615',
      ],
      ...[
        '-9223372036854775808',
        'true',
        'false',
        '{}',
        '{"a":1}',
        '[]',
        '[1,"a"]',
        '["1"]',
        '"\\u0000"',
        '"ü😀"',
      ],
    ]
    const entries = [
      '{"id":"missing","metadata":{}}',
      ...values.map((value, index) => `{"id":"${index}","metadata":{"x":${value},"o":{"n":${value}}}}`),
    ].join('\n')
    const columns = [
      { name: 'x', path: 'x', type: 'text', searched: true },
      { name: 'n', path: 'o.n', type: 'number' },
    ]
    await manage('POST', '/api/sources', { name: 'as_json' })
    await manage('POST', '/api/sources', { name: 'as_columns', columns })
    for (const source of ['as_json', 'as_columns']) {
      expect((await send(source, entries)).body).toMatchObject({ accepted: values.length + 1, rejected: 0 })
    }
    const texts = ['String', 'LowCardinality(String)', 'LowCardinality(Nullable(String))']
    const integers = ['Int8', 'UInt8', 'Int16', 'UInt16', 'Int32', 'UInt32']
    const others = ['Int64', 'UInt64', 'Float32', 'Array(String)']
    const nullable = (types: string[]) => types.flatMap((type) => [type, `Nullable(${type})`])
    const answered = [
      ...[...texts, 'Nullable(String)'].map((type) => `metadata.x::${type}`),
      ...nullable(['Float64', ...integers]).map((type) => `metadata.o.n::${type}`),
    ]
    const casts = [...texts, 'Nullable(String)', ...nullable(['Float64', ...integers]), ...others]
    const all = ['x', 'o.n'].flatMap((path) => casts.map((type) => `metadata.${path}::${type}`))
    const rows = async (source: string, list: string[]) => {
      const items = list.map(
        (cast, index) => `${cast} AS v${index}, toTypeName(v${index}), toString(v${index})`,
      )
      const query = `SELECT id, ${items.join(', ')} FROM ${source} ORDER BY id`
      const response = await manage('POST', '/api/sql', { query })
      expect([response.status, response.text.slice(0, 200)]).toEqual([200, expect.any(String)])
      return response.text
    }
    const expected = await rows('as_json', all)
    expect(await rows('as_columns', all)).toBe(expected)
    // A row that the join adds has the defaults of the stored columns.
    const joined = async (source: string) => {
      const items = answered.map((cast, index) => `b.${cast} AS v${index}`).join(', ')
      const query = `SELECT ${items} FROM as_json a LEFT JOIN ${source} b ON concat('no ', a.id) = b.id LIMIT 1`
      return JSON.parse((await manage('POST', '/api/sql', { query })).text).result
    }
    expect(await joined('as_columns')).toEqual(await joined('as_json'))
    expect(await joined('as_columns')).toMatchObject([{ v0: '', v3: null, v4: 0, v5: null }])
    const query = `SELECT ${answered.map((cast, index) => `${cast} AS v${index}`).join(', ')} FROM as_columns`
    expect((await manage('POST', '/api/endpoints', { name: 'as.columns', query })).status).toBe(201)
    const paths = async () => (await running().call('/api/endpoints/as.columns/paths')).json()
    expect(await paths()).toEqual([])
    // A table of an earlier version has no such columns, or others, until the next start or change.
    for (const column of ['_rest_x', '_rest_n']) {
      await running().engine.command(
        { sql: `ALTER TABLE as_columns DROP COLUMN ${column}` },
        { deadlineMs: 60_000 },
      )
    }
    const earlier = `_rest_x UInt8 MATERIALIZED NOT JSONHas(metadata, 'x') COMMENT '{"rest":"x","type":"text"}'`
    await running().engine.command(
      { sql: `ALTER TABLE as_columns ADD COLUMN ${earlier}` },
      { deadlineMs: 60_000 },
    )
    const more = [...columns, { name: 'y', path: 'y', type: 'text' }]
    expect((await manage('PATCH', '/api/sources/as_columns', { columns: more })).status).toBe(200)
    expect(await rows('as_columns', all)).toBe(expected)
  })
}
