import { request } from 'node:http'
import { describe, expect, test, vi } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import type { ManualClock } from '../../support/manual-clock.ts'
import type { RunningService } from '../../support/service.ts'

/** `POST /api/sql`. The source edge_logs has four entries of the project abc. */
export function adHocSqlJourneys(running: () => RunningService, clock: ManualClock): void {
  const sql = (body: unknown, search = '', headers: Record<string, string> = {}) =>
    ask(running(), running().adminToken.token, 'POST', `/api/sql${search}`, body, headers)
  const runs = async () => {
    const { body } = await ask(running(), running().adminToken.token, 'GET', '/metrics')
    return Number(/wellhead_query_runs_total\{purpose="preview"\} (\d+)/.exec(body)?.[1] ?? 0)
  }

  describe('SQL without an endpoint', () => {
    test('returns rows with the headers of an endpoint, is not cached and counts as a preview', async () => {
      const before = await runs()
      const query = `SELECT id, timestamp FROM edge_logs
        WHERE project = @project AND timestamp > @now - INTERVAL 1 HOUR ORDER BY timestamp DESC LIMIT @most;`
      const micros = (agoMs: number) => new Date(clock.now() - agoMs).toISOString().replace('Z', '000Z')
      const response = await sql({ query, parameters: { project: 'abc', most: 2 } })
      expect(response.body).toEqual({
        result: [
          { id: 'e1', timestamp: micros(60_000) },
          { id: 'e2', timestamp: micros(120_000) },
        ],
      })
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(response.headers.get('cache-control')).toContain('no-store')
      expect(response.headers.get('server-timing')).toMatch(/^queue;dur=/)
      expect(Number(response.headers.get('wellhead-read-rows'))).toBeGreaterThan(0)
      expect(response.headers.get('wellhead-truncated')).toBeNull()
      expect(await runs()).toBe(before + 1)
    })

    test('returns every format, by _format and by Accept', async () => {
      const query = "SELECT number AS n, 'a,b' AS t FROM numbers(2)"
      const text = async (search: string, headers?: Record<string, string>) =>
        (await sql({ query }, search, headers)).body
      expect(await text('?_format=csv')).toBe('"n","t"\n0,"a,b"\n1,"a,b"\n')
      expect(await text('', { Accept: 'application/x-ndjson' })).toBe(
        '{"n":0,"t":"a,b"}\n{"n":1,"t":"a,b"}\n',
      )
      expect(await text('?_format=parquet')).toMatch(/^PAR1[\s\S]*PAR1$/)
      const time = { query: "SELECT toDateTime64('2026-01-31 12:00:00', 6, 'UTC') AS t" }
      for (const search of ['', '?_timestamps=iso']) {
        expect((await sql(time, search)).body.result[0].t).toBe('2026-01-31T12:00:00.000000Z')
      }
      const arrow = await sql({ query }, '', { Accept: 'application/vnd.apache.arrow.stream' })
      expect(arrow.headers.get('content-type')).toBe('application/vnd.apache.arrow.stream')
    })

    test('the types of parameters follow from their values', async () => {
      const query = `SELECT toTypeName(@text) AS text, toTypeName(@whole) AS whole, toTypeName(@part) AS part,
        toTypeName(@flag) AS flag, @none IS NULL AS none, toDate(@day) AS day`
      const parameters = { text: '5', whole: -5, part: 0.5, flag: true, none: null, day: '2026-01-31' }
      expect((await sql({ query, parameters })).body.result).toEqual([
        { text: 'String', whole: 'Int64', part: 'Float64', flag: 'Bool', none: 1, day: '2026-01-31' },
      ])
    })

    test.each<[query: string, parameters: Record<string, unknown>, second: unknown]>([
      ['SELECT count(), countIf(project = @project) FROM edge_logs', { project: 'abc' }, 4],
      ['SELECT 1, @n + 1', { n: 1 }, 2],
      ['SELECT id, timestamp > @now - INTERVAL 1 HOUR FROM edge_logs ORDER BY timestamp DESC, id', {}, 1],
      ["SELECT * FROM (SELECT 'a', @t = 'b')", { t: null }, null],
    ])(
      '%s runs once, but is no endpoint: a column is named after its values',
      async (query, parameters, second) => {
        const { body } = await sql({ query, parameters })
        expect(Object.values(body.result[0])[1]).toBe(second)
        const declared = Object.entries(parameters).map(([name, value]) => [
          name,
          { type: typeof value === 'number' ? 'integer' : 'string' },
        ])
        const endpoint = { query, parameters: Object.fromEntries(declared) }
        const checked = await ask(
          ...([running(), running().adminToken.token, 'POST', '/api/endpoints/check', endpoint] as const),
        )
        const message = 'Column 2 of the result contains a parameter, so it needs a name: … AS name.'
        expect([checked.status, checked.body.error?.message]).toEqual([422, message])
      },
    )

    test('columns without parameters need no name', async () => {
      const query = "SELECT countIf(project = 'abc'), 'x', @n AS n FROM edge_logs"
      const { body } = await sql({ query, parameters: { n: 1 } })
      expect(Object.values(body.result[0])).toEqual([4, 'x', 1])
    })

    test('max_rows truncates the result', async () => {
      const query = 'SELECT number AS n FROM numbers(5000)'
      const usual = await sql({ query })
      expect([usual.body.result.length, usual.headers.get('wellhead-truncated')]).toEqual([1000, 'true'])
      const few = await sql({ query, max_rows: 2 })
      expect([few.body.result, few.headers.get('wellhead-truncated')]).toEqual([[{ n: 0 }, { n: 1 }], 'true'])
    })

    const project = { query: 'SELECT id FROM edge_logs WHERE project = @project' }
    const invalid = (parameter: string, message: unknown = expect.any(String)) => ({
      status: 400,
      error: { code: 'invalid_parameter', parameter, message },
    })
    const refused = (line: number, column: number) => ({
      status: 422,
      error: { code: 'invalid_query', line, column },
    })

    test.each<[why: string, body: unknown, expected: { status: number; error: object }, search?: string]>([
      [
        'a parameter without a value',
        { query: 'SELECT id FROM edge_logs LIMIT @most' },
        { status: 400, error: { code: 'missing_parameter', parameter: 'most' } },
      ],
      [
        'a misspelled parameter',
        { ...project, parameters: { projct: 'abc' } },
        invalid('projct', 'Unknown parameter "projct". Did you mean project?'),
      ],
      [
        'a parameter that is not used',
        { ...project, parameters: { project: 'abc', interval: 'daily' } },
        invalid('interval', 'Unknown parameter "interval". The SQL does not use @interval.'),
      ],
      [
        'a value for @now',
        { query: 'SELECT @now AS n', parameters: { now: 'x' } },
        invalid('parameters.now'),
      ],
      ['a list in a list', { ...project, parameters: { project: [['a']] } }, invalid('parameters.project')],
      [
        'a number without a double',
        { ...project, parameters: { project: 2 ** 60 } },
        invalid('parameters.project'),
      ],
      ['a huge value', { ...project, parameters: { project: 'x'.repeat(65_537) } }, invalid('project')],
      [
        'half a surrogate pair',
        { ...project, parameters: { project: '\ud800' } },
        invalid('parameters.project'),
      ],
      [
        'an unknown field',
        { query: 'SELECT 1', cache_seconds: 60 },
        invalid('cache_seconds', 'Unknown field "cache_seconds".'),
      ],
      ['a query that is not text', { query: 1 }, invalid('query')],
      ['an empty query', { query: ' ; ' }, invalid('query')],
      ['too many rows', { query: 'SELECT 1', max_rows: 10_001 }, invalid('max_rows')],
      ['parameters that are a list', { query: 'SELECT 1', parameters: [] }, invalid('parameters')],
      ['a body that is a list', [], { status: 400, error: { code: 'invalid_body' } }],
      ['a body that is not JSON', 'SELECT 1', { status: 400, error: { code: 'invalid_body' } }],
      [
        'a huge body',
        { query: `SELECT 1 ${' '.repeat(2 ** 20)}` },
        { status: 413, error: { code: 'too_large' } },
      ],
      [
        'texts of a dictionary that are written again and again',
        {
          query: "SELECT (toLowCardinality(repeat('x', 1000000)), toDateTime(number)) AS x FROM numbers(100)",
        },
        { status: 413, error: { code: 'too_large' } },
        '?_format=parquet',
      ],
      ['parameters in the URL', project, invalid('project'), '?project=abc'],
      [
        'an unknown format',
        { query: 'SELECT 1' },
        { status: 406, error: { code: 'not_acceptable' } },
        '?_format=xml',
      ],
      ['a syntax error', { query: '\n\n  SELECT 1\n  FROM edge_logs t WHER n' }, refused(4, 20)],
      ['an unknown column', { query: 'SELECT id,\n  nothing_like_it FROM edge_logs' }, refused(2, 3)],
      ['INSERT', { query: "INSERT INTO edge_logs (id) VALUES ('x')" }, { status: 422, error: {} }],
      ['two statements', { query: 'SELECT 1; SELECT 2' }, { status: 422, error: {} }],
      ['a system table', { query: 'SELECT * FROM system.tables' }, { status: 422, error: {} }],
      ['SETTINGS', { query: 'SELECT 1 SETTINGS max_threads = 1' }, { status: 422, error: {} }],
      ['a table function', { query: "SELECT * FROM file('/etc/passwd')" }, { status: 422, error: {} }],
      ['INTO OUTFILE', { query: "SELECT 1 INTO OUTFILE '/tmp/x'" }, { status: 422, error: {} }],
      [
        'a failure at run time',
        { query: 'SELECT intDiv(1, number) AS n FROM numbers(9)' },
        { status: 422, error: { code: 'invalid_query' } },
      ],
    ])('%s is refused', async (_why, body, { status, error }, search) => {
      const response = await sql(body, search)
      expect([response.status, response.body.error]).toMatchObject([status, error])
    })

    test.each([{ scopes: ['query'] }, { scopes: ['query', 'ingest'], project: 'abc' }])(
      'is forbidden for a token with %o',
      async (fields) => {
        const { token } = await makeToken(running(), fields)
        const response = await ask(running(), token, 'POST', '/api/sql', { query: 'SELECT 1 AS one' })
        expect([response.status, response.body.error.code]).toEqual([403, 'forbidden'])
      },
    )

    test('stops when its caller disconnects', async () => {
      const body = { query: 'SELECT sum(sipHash64(number)) AS ad_hoc_left FROM numbers(1000000000000)' }
      const queries = vi.spyOn(running().engine, 'query')
      const caller = request(`${running().url}/api/sql`, {
        method: 'POST',
        headers: { 'X-API-KEY': running().adminToken.token, 'Content-Type': 'application/json' },
      })
      caller.on('error', () => {})
      caller.end(JSON.stringify(body))
      const count =
        "SELECT count() FROM system.processes WHERE query LIKE '%ad_hoc_left%' AND query LIKE '%numbers(%' AND query NOT LIKE '%system.%'"
      const active = async () =>
        (
          await running().engine.query({ sql: count, format: 'TabSeparatedRaw' }, { deadlineMs: 60_000 })
        ).body.toString()
      const sent = () =>
        queries.mock.calls.findIndex(([{ sql }]) => sql.includes('ad_hoc_left') && sql.includes('LIMIT'))
      // The statements that check the SQL come first.
      await vi.waitFor(() => expect(sent()).not.toBe(-1))
      await vi.waitFor(async () => expect(await active()).toBe('1\n'))
      const run = sent()
      caller.destroy()
      await vi.waitFor(async () => expect(await active()).toBe('0\n'))
      // Not by its time limit, which would also end it.
      const ended = () => queries.mock.settledResults[run]?.value
      await vi.waitFor(() => expect(ended()).toBeDefined())
      expect(ended()).toMatchObject({ code: 'query_cancelled' })
      queries.mockRestore()
    })
  })
}
