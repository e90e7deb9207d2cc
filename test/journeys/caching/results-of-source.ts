import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ask } from '../../support/callers.ts'
import type { manualTime } from '../../support/manual-clock.ts'
import type { RunningService } from '../../support/service.ts'

/** What becomes of cached results when the source that they read changes. */
export function resultsOfSource(service: () => RunningService, time: ReturnType<typeof manualTime>): void {
  describe('of a source', () => {
    const admin = (method: string, path: string, body?: unknown) =>
      ask(service(), service().adminToken.token, method, path, body)
    const get = (path: string) => admin('GET', path)
    const post = (path: string, body: unknown) => admin('POST', path, body)
    const status = async (path: string) => {
      const { status: code, headers } = await get(path)
      return [code, headers.get('cache-status')?.split(';')[1]]
    }
    const create = (name: string, columns: object[] = []) => post('/api/sources', { name, columns })
    const store = async (source: string, metadata: object, minutesAgo = 1) => {
      const timestamp = new Date(time.wall.now() - minutesAgo * 60_000).toISOString()
      const { body } = await post(`/api/logs?source=${source}`, { timestamp, metadata })
      expect(body.accepted).toBe(1)
    }

    test('have the values of a typed column that was redefined after the next refresh', async () => {
      const column = (path: string) => [{ name: 'kind', path, type: 'text' }]
      await create('redefined_logs', column('a'))
      const query =
        "SELECT toDateTime64(toStartOfMinute(redefined_logs.timestamp), 6, 'UTC') AS timestamp, any(kind) AS kind " +
        'FROM redefined_logs WHERE redefined_logs.timestamp > @now - INTERVAL 1 HOUR GROUP BY timestamp ORDER BY timestamp'
      const cached = { cache_seconds: 900, warm_seconds: 300 }
      expect((await post('/api/endpoints', { name: 'redefined', query, ...cached })).status).toBe(201)
      for (const minutesAgo of [1, 30]) await store('redefined_logs', { a: 'old', b: 'new' }, minutesAgo)
      const kinds = async () => {
        const { body } = await get('/api/endpoints/query/redefined')
        return body.result.map(({ kind }: { kind: string }) => kind)
      }
      expect(await kinds()).toEqual(['old', 'old'])
      expect((await admin('PATCH', '/api/sources/redefined_logs', { columns: column('b') })).status).toBe(200)
      time.advance(300_000)
      await vi.waitFor(async () => expect(await kinds()).toEqual(['new', 'new']))
    })

    test('are dropped when it is deleted, also those of SQL in a sandbox and of older versions', async () => {
      await create('deleted_logs')
      await store('deleted_logs', { secret: 1 })
      const rows = 'SELECT metadata.secret::Nullable(Float64) AS secret FROM deleted_logs'
      for (const [name, fields] of Object.entries({
        'deleted.rows': { query: rows },
        'deleted.box': { query: `WITH v AS (${rows}), w AS (SELECT 1 AS n) SELECT n FROM w`, sandbox: true },
      })) {
        const { status: made } = await post('/api/endpoints', { name, cache_seconds: 600, ...fields })
        expect([name, made]).toEqual([name, 201])
      }
      const query = 'WITH v AS (SELECT 2 AS secret) SELECT secret FROM v'
      for (const name of ['deleted.rows', 'deleted.box']) {
        const used = await admin('DELETE', '/api/sources/deleted_logs?confirm=deleted_logs')
        expect([used.status, used.body.error.code]).toEqual([409, 'in_use'])
        const changed = await admin('PATCH', `/api/endpoints/${name}?breaking=true`, { query })
        expect(changed.status).toBe(200)
      }
      const call = '/api/endpoints/query/'
      const readers = [
        `${call}deleted.rows?_version=1`,
        `${call}deleted.box?_version=1&sql=SELECT%20*%20FROM%20v`,
      ]
      const others = [`${call}deleted.rows`, `${call}usage.api-counts?project=abc&interval=daily`]
      for (const path of [...readers, ...others]) expect((await get(path)).status).toBe(200)
      for (const path of readers) expect((await get(path)).body.result).toEqual([{ secret: 1 }])
      expect((await admin('DELETE', '/api/sources/deleted_logs?confirm=deleted_logs')).status).toBe(204)
      for (const path of readers) expect((await get(path)).status, path).toBeGreaterThanOrEqual(400)
      for (const path of others) expect(await status(path)).toEqual([200, ' hit'])
      await create('deleted_logs')
      for (const path of readers) expect((await get(path)).body.result, path).toEqual([])
    })

    test('are dropped when its table is, also that of a request after the source was deleted', async () => {
      await create('dropped_logs')
      await store('dropped_logs', {})
      const query = 'SELECT count() AS entries FROM dropped_logs'
      await post('/api/endpoints', { name: 'dropped.rows', query, cache_seconds: 600 })
      await admin('PATCH', '/api/endpoints/dropped.rows?breaking=true', { query: 'SELECT 1 AS n' })
      const call = () => get('/api/endpoints/query/dropped.rows?_version=1')
      const command = service().engine.command.bind(service().engine)
      let isTableLeft = true
      const commands = vi.spyOn(service().engine, 'command').mockImplementation(async (statement, limits) => {
        if (isTableLeft && statement.sql.startsWith('DROP TABLE')) {
          isTableLeft = false
          expect((await call()).body).toEqual({ result: [{ entries: 1 }] })
        }
        return command(statement, limits)
      })
      onTestFinished(() => commands.mockRestore())
      expect((await admin('DELETE', '/api/sources/dropped_logs?confirm=dropped_logs')).status).toBe(204)
      expect([isTableLeft, (await call()).status]).toEqual([false, expect.toSatisfy((code) => code >= 400)])
    })
  })
}
