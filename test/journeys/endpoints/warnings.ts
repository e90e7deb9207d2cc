import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { readDefinitions } from '../../../src/core/endpoints/definition/definition-file.ts'
import { manyEntries } from '../../../src/core/sql/warnings/path-warnings.ts'
import type { Warning } from '../../../src/core/sql/warnings/warning.ts'
import type { RunningService } from '../../support/service.ts'

const recent = 'timestamp > @now - INTERVAL 1 DAY'

/** Expects entries of edge_logs with metadata.request.path and without metadata.response. */
export function endpointWarnings(running: () => RunningService, nowMs: number): void {
  const request = async (method: string, path: string, body?: unknown, token?: string) => {
    const response = await running().call(path, {
      method,
      headers: {
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...(token && { 'X-API-KEY': token }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }
  const check = async (query: string, more: object = {}): Promise<Warning[]> => {
    const { status, body } = await request('POST', '/api/endpoints/check', { query, ...more })
    expect([status, body.error]).toEqual([200, undefined])
    return body.warnings
  }
  const codes = (warnings: Warning[]) => warnings.map(({ code }) => code)

  describe('warnings', () => {
    test('checking reports them with their position in the SQL as it was sent', async () => {
      const query = `\n\n  SELECT timestamp::date AS timestamp, count() AS n\n  FROM edge_logs WHERE project = @projct AND ${recent} GROUP BY timestamp;\n`
      expect(await check(query, { parameters: { project: {} } })).toMatchObject([
        { code: 'unused_parameter', line: 1, column: 1 },
        { code: 'alias_shadows_column', line: 3, column: 29 },
        {
          code: 'undeclared_parameter',
          line: 4,
          column: 34,
          message: expect.stringContaining('mean @project?'),
        },
      ])
      expect(await check(`SELECT count() AS n FROM edge_logs WHERE ${recent}`)).toEqual([])
    })

    test('saving reports them and saves, and reading does not', async () => {
      const name = 'warned'
      const query = 'SELECT id FROM edge_logs LIMIT 5'
      const expected = ['unbounded_time', 'no_order']
      const path = `/api/endpoints/${name}`
      const created = await request('POST', '/api/endpoints', { published: true, name, query })
      expect(created.status).toBe(201)
      expect(codes(created.body.warnings)).toEqual(expected)
      const read = await request('GET', path)
      expect(read.body).not.toHaveProperty('warnings')
      expect((await request('GET', '/api/endpoints')).body[0]).not.toHaveProperty('warnings')
      // A client can send back what it received.
      const replaced = await request('PUT', path, created.body)
      expect([replaced.status, replaced.body.version, codes(replaced.body.warnings)]).toEqual([
        200,
        2,
        expected,
      ])
      const patched = await request('PATCH', path, {
        query: `SELECT id FROM edge_logs WHERE ${recent} ORDER BY id LIMIT 5`,
      })
      expect([patched.body.version, patched.body.warnings]).toEqual([3, []])
      const restored = await request('POST', `${path}/versions/1/restore`)
      expect([restored.body.version, codes(restored.body.warnings)]).toEqual([4, expected])
      // The SQL stays the same, and so do its warnings.
      expect(codes((await request('PATCH', path, { description: 'Any five.' })).body.warnings)).toEqual(
        expected,
      )
      expect((await request('DELETE', path)).status).toBe(204)
    })

    test('deploying reports them for each endpoint, also in a dry run', async () => {
      const endpoints = [
        { name: 'deployed.wrong', query: 'SELECT id FROM edge_logs LIMIT 5' },
        { name: 'deployed.right', query: `SELECT count() AS n FROM edge_logs WHERE ${recent}` },
      ]
      for (const dry_run of [true, false]) {
        const { status, body } = await request('POST', '/api/deployments', { endpoints, dry_run })
        expect(status).toBe(200)
        expect(body.endpoints.map((one: { warnings: Warning[] }) => codes(one.warnings))).toEqual([
          ['unbounded_time', 'no_order'],
          [],
        ])
      }
      for (const { name } of endpoints) await request('DELETE', `/api/endpoints/${name}`)
    })

    test('a path that no recent entry has is reported, and one of a source without entries is not', async () => {
      const of = (source: string) =>
        check(`SELECT metadata.reqest.path::Nullable(String) AS path FROM ${source} WHERE ${recent}`)
      expect(await of('edge_logs')).toEqual([
        {
          code: 'unknown_path',
          message:
            'No recent entry of edge_logs has metadata.reqest.path. Did you mean metadata.request.path?',
          ...{ line: 1, column: 8 },
        },
      ])
      expect(await of('realtime_logs')).toEqual([])
      const known = 'metadata.request.path::Nullable(String) AS path, metadata.request AS request'
      expect(await check(`SELECT ${known} FROM edge_logs WHERE ${recent}`)).toEqual([])
    })

    test('a path of many entries is reported, and a rare one is not unknown', async () => {
      const source = 'busy_logs'
      await request('POST', '/api/sources', { name: source })
      const at = `toDateTime64('${new Date(nowMs - 60_000).toISOString().slice(0, 19)}', 6, 'UTC')`
      const metadata = `if(number = 0, '{"rare":{"key":1}}', '{"user":{"tier":"a"}}')`
      await running().engine.command(
        {
          sql:
            `INSERT INTO ${source} (project, id, timestamp, event_message, metadata) ` +
            `SELECT 'p', '', ${at} - INTERVAL if(number = 0, 1, 0) HOUR, '', ${metadata} FROM numbers(${manyEntries})`,
        },
        { deadlineMs: 120_000 },
      )
      const counting = (path: string) =>
        check(`SELECT countIf(metadata.${path}::Nullable(String) = 'a') AS n FROM ${source} WHERE ${recent}`)
      expect(await counting('user.tier')).toMatchObject([{ code: 'slow_path', line: 1, column: 16 }])
      expect(await counting('rare.key')).toEqual([])
      expect(await counting('user.tiers')).toMatchObject([
        { code: 'unknown_path', message: expect.stringContaining('Did you mean metadata.user.tier?') },
      ])
      const columns = [{ name: 'user_tier', path: 'user.tier', type: 'text' }]
      await request('PATCH', `/api/sources/${source}`, { columns })
      expect(await counting('user.tier')).toEqual([])
      await request('DELETE', `/api/sources/${source}?confirm=${source}`)
    })

    test('shipped endpoints have none', async () => {
      const shipped = readDefinitions(fileURLToPath(new URL('../../../shipped/endpoints', import.meta.url)))
      for (const { query, parameters, cache_seconds } of shipped) {
        expect(await check(query, { parameters, cache_seconds })).toEqual([])
      }
    })

    test('tenants see none of them', async () => {
      const { body } = await request('POST', '/api/access-tokens', { scopes: ['query'], project: 'abc' })
      const draft = { query: 'SELECT count() AS n FROM edge_logs WHERE project = @project OR id = @idd' }
      expect((await request('POST', '/api/endpoints/check', draft, body.token)).status).toBe(403)
      const endpoint = { name: 'warned.tenant', published: true, ...draft, parameters: { project: {} } }
      expect((await request('POST', '/api/endpoints', endpoint, body.token)).status).toBe(403)
      expect((await request('POST', '/api/endpoints', endpoint)).body.warnings).toHaveLength(2)
      const { status, body: answer } = await request(
        'GET',
        '/api/endpoints/query/warned.tenant',
        undefined,
        body.token,
      )
      expect([status, Object.keys(answer)]).toEqual([200, ['result']])
      await request('DELETE', '/api/endpoints/warned.tenant')
    })
  })
}
