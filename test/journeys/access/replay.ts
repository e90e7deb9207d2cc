import { beforeAll, describe, expect, test, vi } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import type { ManualClock } from '../../support/manual-clock.ts'
import type { RunningService } from '../../support/service.ts'

const daysMs = 86_400_000

const kinds = `SELECT event_message AS kind, count() AS n FROM replayed
WHERE project = @project AND timestamp > @now - INTERVAL 1 DAY GROUP BY kind ORDER BY kind`

export function replayJourneys(running: () => RunningService, clock: ManualClock): void {
  const admin = (method: string, path: string, body?: unknown) =>
    ask(running(), running().adminToken.token, method, path, body)
  const query = (name: string, parameters: Record<string, string> = {}, token?: string) =>
    ask(
      running(),
      token ?? running().adminToken.token,
      'GET',
      `/api/endpoints/query/${name}?${new URLSearchParams(parameters)}`,
    )
  const replay = (name: string, endpoint: object, more: object = {}) =>
    admin('POST', `/api/endpoints/${name}/replay`, { endpoint, ...more })
  /** Creates an endpoint whose results are cached. */
  const make = async (name: string, fields: object) => {
    const made = await admin('POST', '/api/endpoints', {
      published: true,
      name,
      cache_seconds: 600,
      ...fields,
    })
    expect([made.status, made.body.error]).toEqual([201, undefined])
  }

  describe('replaying recent requests against a new version', () => {
    beforeAll(async () => {
      const entry = (project: string, kind: string, days: number, index: number) => ({
        id: `${project}-${kind}-${index}`,
        project,
        event_message: kind,
        timestamp: new Date(clock.now() - days * daysMs - 60_000).toISOString(),
      })
      const entries = [
        ...['ok', 'ok', 'ok', 'secret-kind', 'bad'].map((kind, i) => entry('rp-a', kind, 0, i)),
        ...['ok', 'bad', 'bad'].map((kind, i) => entry('rp-b', kind, 0, i)),
        ...Array.from({ length: 40 }, (_, i) => entry('rp-a', 'old', 20, i)),
      ]
      expect((await admin('POST', '/api/sources', { name: 'replayed' })).status).toBe(201)
      expect((await admin('POST', '/api/logs?source=replayed', entries)).body.accepted).toBe(48)
      await make('replay.kinds', { query: kinds, parameters: { project: { required: true } } })
      for (const project of ['rp-a', 'rp-b', 'rp-a', 'rp-a', 'rp-b', 'rp-none'])
        await query('replay.kinds', { project })
      await query('replay.kinds', { project: 'rp-a', _format: 'csv' })
    })

    const uses = ({ body }: { body: { requests: { uses: number }[] } }) =>
      body.requests.map(({ uses }) => uses)

    test('returns no requests if none are cached', async () => {
      await make('replay.cold', { query: 'SELECT 1 AS one' })
      const cold = await replay('replay.cold', { query: 'SELECT 2 AS one' })
      expect(cold.body).toEqual({
        endpoint: 'replay.cold',
        version: 1,
        at: new Date(clock.now()).toISOString(),
        requests: [],
        skipped: 0,
      })
      await admin('PATCH', '/api/endpoints/replay.cold', { cache_seconds: null })
      await query('replay.cold')
      expect((await replay('replay.cold', { query: 'SELECT 2 AS one' })).body.requests).toEqual([])
    })

    test('reports the same rows, most frequent request first, and leaves no trace', async () => {
      const cached = async () => {
        const { endpoints } = (await admin('GET', '/api/cache')).body
        const group = endpoints.find(({ name }: { name: string }) => name === 'replay.kinds')
        return [group.results, group.bytes]
      }
      const before = await cached()
      const rewritten = kinds.replace('count() AS n', 'countIf(1) AS n')
      const replayed = await replay('replay.kinds', { query: rewritten, description: 'x' })
      const figures = { duration_ms: expect.any(Number), error: null }
      expect(replayed.status).toBe(200)
      expect(replayed.body.requests).toEqual(
        [
          [4, 3, 8],
          [2, 2, 8],
          [1, 0, 0],
        ].map(([uses, rows, rows_read]) => ({
          uses,
          tenant: false,
          format: 'json',
          outcome: 'same',
          before: { ...figures, rows, rows_read },
          after: { ...figures, rows, rows_read },
          added_rows: 0,
          removed_rows: 0,
          reordered: false,
          unstable: false,
        })),
      )
      expect(await cached()).toEqual(before)
      expect((await admin('GET', '/api/endpoints/replay.kinds')).body).toMatchObject({
        version: 1,
        query: kinds,
      })
      // A replay is no use of a request.
      expect(uses(await replay('replay.kinds', { query: rewritten }))).toEqual(uses(replayed))
      expect((await query('replay.kinds', { project: 'rp-b' })).headers.get('cache-status')).toContain('hit')
    })

    test('counts rows that differ, and shows values only on request', async () => {
      const change = { query: kinds.replace('count() AS n', "countIf(kind != 'ok') AS n") }
      const hidden = await replay('replay.kinds', change)
      const [first, second, empty] = hidden.body.requests
      for (const request of [first, second]) {
        expect(request).toMatchObject({
          outcome: 'different',
          added_rows: 1,
          removed_rows: 1,
          unstable: false,
        })
      }
      expect(empty.outcome).toBe('same')
      expect(JSON.stringify(hidden.body)).not.toMatch(/rp-|secret|"ok"|parameters|examples/)
      const shown = await replay('replay.kinds', change, { show_values: true })
      expect(shown.body.requests[0]).toMatchObject({
        parameters: { project: 'rp-a' },
        project: null,
        examples: [
          { before: { kind: 'ok', n: 3 }, after: null },
          { before: null, after: { kind: 'ok', n: 0 } },
        ],
      })
      const fewer = await replay('replay.kinds', { query: kinds.replace('GROUP', "AND kind != 'bad' GROUP") })
      expect(fewer.body.requests[0]).toMatchObject({ removed_rows: 1, added_rows: 0 })
      const limited = await replay('replay.kinds', { max_rows: 1 })
      expect(limited.body.requests[0]).toMatchObject({ removed_rows: 2, after: { rows: 1 } })
      const turned = await replay('replay.kinds', { query: `${kinds} DESC` })
      expect(turned.body.requests[0]).toMatchObject({
        outcome: 'different',
        removed_rows: 0,
        reordered: true,
      })
      const columns = kinds.replace(
        'event_message AS kind, count() AS n',
        'count() AS n, event_message AS kind',
      )
      expect((await replay('replay.kinds', { query: columns })).body.requests[0].outcome).toBe('same')
    })

    test('reports requests that the new version refuses or cannot answer, without values', async () => {
      const parameters = { project: { required: true, enum: ['rp-a'] } }
      const refused = await replay('replay.kinds', { parameters })
      expect(refused.body.requests.map(({ outcome }: { outcome: string }) => outcome)).toEqual([
        'same',
        'failed',
        'failed',
      ])
      expect(refused.body.requests[1]).toMatchObject({
        before: { error: null },
        after: { rows: null, rows_read: null, error: { code: 'invalid_parameter' } },
      })
      const typed = await replay('replay.kinds', { parameters: { project: { type: 'integer' } } })
      expect(typed.body.requests[0].after.error).toEqual({
        code: 'invalid_parameter',
        message: 'Parameter "project" is not accepted.',
      })
      const strict = await replay('replay.kinds', {
        query: kinds.replace('project = @project AND', ''),
        parameters: {},
        strict: true,
      })
      expect(strict.body.requests[0]).toMatchObject({
        outcome: 'failed',
        after: { error: { code: 'invalid_parameter' } },
      })
      const failing = { query: kinds.replace('count()', 'sum(toUInt8(event_message))') }
      const hidden = await replay('replay.kinds', failing)
      expect(hidden.body.requests[0].after.error.code).toBe('invalid_query')
      expect(JSON.stringify([typed.body, hidden.body])).not.toMatch(/rp-|secret|'ok'/)
      const shown = await replay('replay.kinds', failing, { show_values: true })
      expect(shown.body.requests[0].after.error.message).toMatch(/Cannot parse/)
    })

    test('shows that a version reads more rows', async () => {
      const unbounded = kinds.replace(
        'timestamp > @now - INTERVAL 1 DAY',
        "event_message IN ('ok', 'bad', 'secret-kind')",
      )
      const { requests } = (await replay('replay.kinds', { query: unbounded })).body
      expect(requests[0]).toMatchObject({
        outcome: 'same',
        before: { rows_read: 8 },
        after: { rows_read: 48 },
      })
    })

    test("runs a tenant's requests with the tenant's filter", async () => {
      const all =
        'SELECT uniqExact(project) AS projects, count() AS n FROM replayed WHERE timestamp > @now - INTERVAL 1 DAY'
      await make('replay.all', { query: all })
      const { token } = await makeToken(running(), { scopes: ['query'], project: 'rp-b' })
      expect((await query('replay.all', {}, token)).body.result).toEqual([{ projects: 1, n: 3 }])
      await query('replay.all', {}, token)
      expect((await query('replay.all')).body.result).toEqual([{ projects: 2, n: 8 }])
      const grown = all.replace('count()', 'count() + 1')
      const shown = (await replay('replay.all', { query: grown }, { show_values: true })).body.requests
      expect(
        shown.map(({ tenant, project, examples }: Record<string, unknown>) => ({
          tenant,
          project,
          examples,
        })),
      ).toEqual([
        {
          tenant: true,
          project: 'rp-b',
          examples: [
            { before: { projects: 1, n: 3 }, after: null },
            { before: null, after: { projects: 1, n: 4 } },
          ],
        },
        {
          tenant: false,
          project: null,
          examples: [
            { before: { projects: 2, n: 8 }, after: null },
            { before: null, after: { projects: 2, n: 9 } },
          ],
        },
      ])
      const hidden = (await replay('replay.all', { query: grown })).body
      expect(JSON.stringify(hidden)).not.toContain('rp-b')
      expect(hidden.requests[0].tenant).toBe(true)
    })

    test("runs callers' SQL in a sandbox against the views of each version", async () => {
      const views = (where: string) =>
        `WITH mine AS (SELECT id, event_message FROM replayed WHERE ${where}) SELECT count() AS n FROM mine`
      await make('replay.sandbox', { query: views("project = 'rp-b'"), sandbox: true })
      const sql = 'SELECT event_message AS kind FROM mine ORDER BY id'
      expect((await query('replay.sandbox', { sql })).body.result).toHaveLength(3)
      const narrower = await replay('replay.sandbox', {
        query: views("project = 'rp-b' AND event_message = 'bad'"),
      })
      expect(narrower.body.requests).toMatchObject([
        { outcome: 'different', before: { rows: 3 }, after: { rows: 2 }, removed_rows: 1, added_rows: 0 },
      ])
      const renamed = views("project = 'rp-b'").replaceAll('mine', 'yours')
      const failed = await replay('replay.sandbox', { query: renamed })
      expect(failed.body.requests).toMatchObject([
        { outcome: 'failed', after: { error: { code: 'invalid_query' } } },
      ])
      expect(JSON.stringify(failed.body)).not.toContain('mine')
    })

    test("hides rows of callers' SQL, whose columns can have values in their names", async () => {
      const views = (id: string) =>
        `WITH mine AS (SELECT ${id} AS id FROM replayed) SELECT count() AS n FROM mine`
      await make('replay.named', { query: views('id'), sandbox: true })
      await query('replay.named', { sql: "SELECT countIf(id = 'rp-secret') FROM mine" })
      const next = { query: views("'rp-secret'") }
      const [hidden] = (await replay('replay.named', next)).body.requests
      expect(hidden).toMatchObject({ outcome: 'different', removed_rows: 1 })
      expect(JSON.stringify(hidden)).not.toContain('rp-secret')
      const [shown] = (await replay('replay.named', next, { show_values: true })).body.requests
      expect(JSON.stringify(shown.examples)).toContain('rp-secret')
    })

    test('reads no entries after @now, so that new entries do not look like a difference', async () => {
      const entries = [-60_000, 60_000].map((ms) => ({
        project: 'rp-c',
        timestamp: new Date(clock.now() + ms).toISOString(),
      }))
      await admin('POST', '/api/logs?source=replayed', entries)
      const count = "SELECT count() AS n FROM replayed WHERE project = 'rp-c'"
      await make('replay.ahead', { query: count })
      expect((await query('replay.ahead')).body.result).toEqual([{ n: 2 }])
      const change = { query: count.replace('count()', 'count() * 10') }
      const { requests } = (await replay('replay.ahead', change, { show_values: true })).body
      expect(requests[0].examples).toEqual([
        { before: { n: 1 }, after: null },
        { before: null, after: { n: 10 } },
      ])
    })

    test('does not blame the change for rows that vary from run to run', async () => {
      const random = 'SELECT rand64() AS r'
      await make('replay.random', { query: random })
      await query('replay.random')
      const { requests } = (await replay('replay.random', { query: `${random} -- same` })).body
      expect(requests).toMatchObject([{ outcome: 'different', removed_rows: 1, unstable: true }])
    })

    test('refuses an invalid version, an invalid body and callers without the scope admin', async () => {
      const invalid = await replay('replay.kinds', { query: 'SELECT 1 AS one,\n  nothing FROM replayed' })
      expect(invalid).toMatchObject({
        status: 422,
        body: { error: { code: 'invalid_query', line: 2, column: 3 } },
      })
      for (const [body, parameter] of [
        [{}, 'endpoint'],
        [{ endpoint: { max_rows: 0 } }, 'max_rows'],
        [{ endpoint: {}, show_values: 'yes' }, 'show_values'],
        [{ endpoint: {}, limit: 1 }, 'limit'],
        [{ endpoint: { id: '00000000-0000-4000-8000-000000000000' } }, 'id'],
      ] as const) {
        const refused = await admin('POST', '/api/endpoints/replay.kinds/replay', body)
        expect([refused.status, refused.body.error.parameter]).toEqual([400, parameter])
      }
      expect((await replay('replay.unknown', {})).status).toBe(404)
      const { token } = await makeToken(running(), { scopes: ['query'] })
      const asked = await ask(running(), token, 'POST', '/api/endpoints/replay.kinds/replay', {
        endpoint: {},
      })
      expect(asked.status).toBe(403)
    })

    test('serves several replays at once', async () => {
      const change = { query: kinds.replace('count()', 'count() + 1') }
      const both = await Promise.all([1, 2, 3].map(() => replay('replay.kinds', change)))
      for (const { body } of both) expect(body.requests).toHaveLength(3)
    })

    test('stops when its caller disconnects', async () => {
      const caller = new AbortController()
      const endless = {
        query: 'SELECT sum(sipHash64(number)) AS n, 1 AS replay_left FROM numbers(1000000000000)',
      }
      const running_ = running()
      const gone = running_.call('/api/endpoints/replay.kinds/replay', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ endpoint: endless }),
        signal: caller.signal,
      })
      const ended = expect(gone).rejects.toThrow()
      const processes = async () =>
        (
          await running_.engine.query(
            {
              sql: "SELECT count() FROM system.processes WHERE query LIKE '%replay_left%' AND query NOT LIKE '%system.%'",
              format: 'TabSeparatedRaw',
            },
            { deadlineMs: 60_000 },
          )
        ).body
          .toString()
          .trim()
      await vi.waitFor(async () => expect(await processes()).toBe('1'))
      caller.abort()
      await ended
      await vi.waitFor(async () => expect(await processes()).toBe('0'))
      // The next replay does not wait for the one that was stopped.
      expect((await replay('replay.kinds', {})).body.requests).toHaveLength(3)
    })
  })
}
