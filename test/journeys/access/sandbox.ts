import { beforeAll, describe, expect, test, vi } from 'vitest'
import { ask, type MadeToken, makeToken } from '../../support/callers.ts'
import { many } from '../../support/engines.ts'
import type { ManualClock } from '../../support/manual-clock.ts'
import type { RunningService } from '../../support/service.ts'
import { sharedServer } from '../../support/worker-server.ts'

const path = '/api/endpoints/query/sandbox.mine'
const projects = ['sand-a', 'sand-b'] as const
const query = `WITH mine AS (SELECT id, event_message FROM edge_logs WHERE project = @project)
SELECT count() AS n FROM mine`

/** Reads the whole source, so that only the token separates tenants. */
const openQuery = 'WITH everything AS (SELECT * FROM edge_logs) SELECT count() AS n FROM everything'

/** SQL that tries to leave the sandbox, with a part of the expected error. */
const hostile: [sql: string, refusal: RegExp][] = [
  ['SELECT * FROM edge_logs', /cannot be read here/],
  ['SELECT * FROM mine WHERE id IN (SELECT id FROM wellhead.edge_logs)', /cannot be read here|not allowed/],
  ['SELECT * FROM system.tables', /cannot be read here|not allowed/],
  ["SELECT * FROM merge('wellhead', '.*')", /not allowed/],
  ["SELECT * FROM url('http://127.0.0.1:1/', CSV)", /not allowed/],
  ['WITH mine AS (SELECT 1) SELECT * FROM mine', /taken/],
  ['SELECT * FROM mine SETTINGS additional_table_filters = {}', /SETTINGS/],
  ['SELECT * FROM mine WHERE event_message = @project', /Write the value/],
  ['SELECT 1; SELECT 2', /./],
  ['SELECT 1) UNION ALL (SELECT id FROM edge_logs', /./],
  ['DROP TABLE edge_logs', /./],
  ['', /./],
]

export function sandboxJourneys(running: () => RunningService, clock: ManualClock): void {
  const admin = (method: string, address: string, body?: unknown, headers?: Record<string, string>) =>
    ask(running(), running().adminToken.token, method, address, body, headers)
  const get = (parameters: Record<string, string>, address = path) =>
    admin('GET', `${address}?${new URLSearchParams(parameters)}`)

  describe('sandbox SQL', () => {
    const tokens = new Map<string, MadeToken>()
    const asTenant = (project: string, endpoint: string, body: unknown) =>
      ask(running(), tokens.get(project)?.token, 'POST', `/api/endpoints/query/${endpoint}`, body)

    beforeAll(async () => {
      const timestamp = new Date(clock.now() - 60_000).toISOString()
      const entries = projects.flatMap((project) =>
        ['1', '2', '3'].map((n) => ({
          id: `${project}/${n}`,
          project,
          timestamp,
          event_message: `${project} said ${n}`,
        })),
      )
      expect((await admin('POST', '/api/logs?source=edge_logs', entries)).body.accepted).toBe(6)
      for (const project of projects) {
        tokens.set(project, await makeToken(running(), { scopes: ['query'], project }))
      }
      const parameters = { project: { required: true } }
      const made = [
        await admin('POST', '/api/endpoints', {
          published: true,
          name: 'sandbox.mine',
          query,
          parameters,
          sandbox: true,
        }),
        await admin('POST', '/api/endpoints', {
          published: true,
          name: 'sandbox.open',
          query: openQuery,
          sandbox: true,
        }),
        await admin('POST', '/api/endpoints', { published: true, name: 'sandbox.off', query: openQuery }),
      ]
      expect(made.map(({ status }) => status)).toEqual([201, 201, 201])
    })

    test('replaces the final SELECT, with GET and POST', async () => {
      const sql = 'SELECT id FROM mine ORDER BY id DESC LIMIT 2'
      const expected = { result: [{ id: 'sand-a/3' }, { id: 'sand-a/2' }] }
      expect((await get({ project: 'sand-a', sql })).body).toEqual(expected)
      expect((await admin('POST', path, { project: 'sand-a', sql })).body).toEqual(expected)
      expect((await admin('POST', `${path}?project=sand-a`, { sql })).body).toEqual(expected)
      expect((await get({ project: 'sand-a', sql, _format: 'csv' })).body).toBe(
        '"id"\n"sand-a/3"\n"sand-a/2"\n',
      )
      expect((await get({ project: 'sand-a' })).body).toEqual({ result: [{ n: 3 }] })
    })

    test('still requires the parameters of the endpoint', async () => {
      const missing = await get({ sql: 'SELECT 1 AS one' })
      expect(missing).toMatchObject({ status: 400, body: { error: { code: 'missing_parameter' } } })
      const twice = await admin('POST', `${path}?project=sand-a&sql=SELECT+1`, { sql: 'SELECT 2' })
      expect(twice).toMatchObject({ status: 400, body: { error: { parameter: 'sql' } } })
      expect((await admin('POST', path, { project: 'sand-a', sql: ['SELECT 1'] })).status).toBe(400)
    })

    test.each(hostile)('%s is refused', async (sql, refusal) => {
      const { status, body } = await admin('POST', path, { project: 'sand-a', sql })
      expect([status, body.error?.code]).toEqual([422, 'invalid_query'])
      expect(body.error.message).toMatch(refusal)
      expect(JSON.stringify(body)).not.toContain('said')
    })

    test("sees only rows of the token's project, even if the endpoint does not filter", async () => {
      const rows = 'SELECT id FROM everything ORDER BY id'
      const own = ['sand-a/1', 'sand-a/2', 'sand-a/3'].map((id) => ({ id }))
      expect((await asTenant('sand-a', 'sandbox.open', { sql: rows })).body).toEqual({ result: own })
      expect((await asTenant('sand-b', 'sandbox.open', { sql: rows })).body.result[0].id).toBe('sand-b/1')
      const others = 'SELECT uniqExact(project) AS n FROM everything'
      expect((await asTenant('sand-a', 'sandbox.open', { sql: others })).body).toEqual({ result: [{ n: 1 }] })
      const foreign = await asTenant('sand-a', 'sandbox.mine', { project: 'sand-b', sql: 'SELECT 1 AS n' })
      expect(foreign.status).toBe(403)
    })

    test('cannot use errors to test for rows of another tenant', async () => {
      for (const sql of [
        "SELECT count() AS n FROM everything WHERE intDiv(1, event_message != 'sand-b said 1') = 1",
        "SELECT count() AS n FROM everything WHERE toUInt8(if(startsWith(id, 'sand-b'), id, '1')) = 1",
      ]) {
        expect(await asTenant('sand-a', 'sandbox.open', { sql }), sql).toMatchObject({
          status: 200,
          body: { result: [{ n: 3 }] },
        })
        // The owner of the row gets the error.
        expect((await asTenant('sand-b', 'sandbox.open', { sql })).status, sql).toBe(422)
      }
    })

    test('is ignored if the endpoint has no sandbox', async () => {
      const off = '/api/endpoints/query/sandbox.off'
      const [without, given] = [await get({}, off), await get({ sql: 'SELECT 1 AS one' }, off)]
      expect([given.status, given.body]).toEqual([200, without.body])
    })

    test('is part of the cache key, and a change of the endpoint takes effect', async () => {
      const changed = await admin('PATCH', '/api/endpoints/sandbox.mine', { cache_seconds: 60 })
      expect(changed.body).toMatchObject({ version: 2, cache_seconds: 60 })
      const outcome = async (sql: string, project = 'sand-a') => {
        const { headers, body } = await get({ project, sql })
        return [/Wellhead; (hit|fwd=\w+)/.exec(headers.get('cache-status') ?? '')?.[1], body.result[0].n]
      }
      const [count, longest] = ['SELECT count() AS n FROM mine', 'SELECT max(length(id)) AS n FROM mine']
      expect(await outcome(count)).toEqual(['fwd=miss', 3])
      expect(await outcome(count)).toEqual(['hit', 3])
      expect(await outcome(longest)).toEqual(['fwd=miss', 8])
      expect(await outcome(count, 'sand-b')).toEqual(['fwd=miss', 3])
      // The same SQL with a tenant's token is cached separately, even if the rows are the same.
      const tenants = await asTenant('sand-a', 'sandbox.mine', { sql: count })
      expect(tenants.headers.get('cache-status')).toContain('fwd=miss')

      const narrower = query.replace('@project)', "@project AND id LIKE '%/1')")
      expect((await admin('PATCH', '/api/endpoints/sandbox.mine', { query: narrower })).status).toBe(200)
      expect(await outcome(count)).toEqual(['fwd=miss', 1])
      expect(
        (await admin('PATCH', '/api/endpoints/sandbox.mine?breaking=true', { sandbox: false })).status,
      ).toBe(200)
      expect(await outcome('SELECT 42 AS n')).toEqual(['fwd=miss', 1])
    })

    test('is stopped at the time limit of the endpoint while it is being checked', async () => {
      const views = 'WITH mine AS (SELECT 1 AS one) SELECT one FROM mine'
      const brief = { name: 'sandbox.brief', query: views, sandbox: true, timeout_seconds: 1 }
      expect((await admin('POST', '/api/endpoints', { published: true, ...brief })).status).toBe(201)
      // The engine runs the subquery to find the type of the column.
      const sql = 'SELECT (SELECT sum(sipHash64(number)) FROM numbers(1000000000000)) AS n'
      expect(await admin('POST', '/api/endpoints/query/sandbox.brief', { sql })).toMatchObject({
        status: 504,
        body: { error: { code: 'query_timeout', message: expect.stringContaining('limit of 1 s') } },
      })
    })

    test('of a caller that ended the engine is refused, whatever it says, while other callers are served', async ({
      skip,
    }) => {
      skip(sharedServer() !== undefined, 'Only an embedded engine is restarted by the service.')
      const far = 'arrayLevenshteinDistance(range(200000), range(number + 5, 200005))'
      const stubborn = `WITH slow AS (SELECT ${far} AS d FROM numbers(1)), quick AS (SELECT 1 AS one) SELECT one FROM quick`
      // Long enough to check the SQL, and too short for the view.
      const seconds = many(2, 5)
      const made = { name: 'sandbox.stubborn', query: stubborn, sandbox: true, timeout_seconds: seconds }
      expect((await admin('POST', '/api/endpoints', { published: true, ...made })).status).toBe(201)
      const [anna, bert] = [
        await makeToken(running(), { scopes: ['query'] }),
        await makeToken(running(), { scopes: ['query'] }),
      ]
      const send = ({ token }: MadeToken, body: object) =>
        ask(running(), token, 'POST', '/api/endpoints/query/sandbox.stubborn', body)
      const restarts = async () => (await admin('GET', '/api/status')).body.engine.restarts
      const before = await restarts()
      expect((await send(anna, { sql: 'SELECT d + 0 AS n FROM slow' })).body.error.code).toBe('query_timeout')
      // On a busy machine, the statement needs a while for the processor time that proves that it ignores its limit.
      await vi.waitFor(
        async () => {
          expect(await restarts()).toBe(before + 1)
          expect((await admin('GET', '/ready')).status).toBe(200)
        },
        { timeout: 90_000, interval: 50 },
      )
      for (const sql of [
        'SELECT d + 1 AS n FROM slow',
        'SELECT d + 2 AS n FROM slow',
        'SELECT one FROM quick',
        'SELECT nothing FROM quick',
      ]) {
        const refused = await send(anna, { sql })
        expect([sql, refused.status, refused.body.error.code]).toEqual([sql, 429, 'rate_limited'])
        expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
      }
      expect((await send(anna, {})).body).toEqual({ result: [{ one: 1 }] })
      expect((await send(bert, { sql: 'SELECT one + 1 AS two FROM quick' })).body).toEqual({
        result: [{ two: 2 }],
      })
      expect(await restarts()).toBe(before + 1)
      // Real time counts as well, so this is enough in any case.
      clock.advance(600_000)
      expect((await send(anna, { sql: 'SELECT one + 2 AS three FROM quick' })).body).toEqual({
        result: [{ three: 3 }],
      })
    })
  })
}
