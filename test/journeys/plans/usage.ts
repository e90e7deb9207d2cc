import { beforeAll, describe, expect, test } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import type { RunningService } from '../../support/service.ts'

export function usageJourneys(running: () => RunningService): void {
  const admin = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    ask(running(), running().adminToken.token, method, path, body, headers)
  const send = (entries: object[], headers?: Record<string, string>) =>
    admin('POST', '/api/logs?source=quota_logs', entries, headers)
  const entriesOf = (project: string, count: number) =>
    Array.from({ length: count }, (_, n) => ({ project, event_message: `entry ${n}` }))
  const usageOf = async (project: string) =>
    (await admin('GET', `/api/project-usage?project=${project}`)).body
  const events = async (project: string) =>
    (await admin('POST', '/api/sources/alert_events/search', { query: `project:${project}` })).body.map(
      ({ metadata }: { metadata: object }) => metadata,
    )

  describe('quotas', () => {
    beforeAll(async () => {
      await admin('POST', '/api/sources', { name: 'quota_logs' })
      const plans = [
        { name: 'QUOTA_10', entries_per_day: 10 },
        { name: 'QUOTA_BYTES', bytes_per_day: 1_000 },
      ]
      expect((await admin('POST', '/api/deployments', { plans })).status).toBe(200)
    })

    test('reject entries one by one, tell it at 80 and 100 percent, and leave reading alone', async () => {
      await admin('PUT', '/api/projects/quota-a', { plan: 'QUOTA_10' })
      expect((await send([...entriesOf('quota-a', 7), ...entriesOf('quota-z', 3)])).body.accepted).toBe(10)
      const over = await send([...entriesOf('quota-a', 5), ...entriesOf('quota-z', 1)])
      expect([over.status, over.body]).toEqual([
        200,
        {
          message: 'Logged!',
          accepted: 4,
          rejected: 2,
          errors: [3, 4].map((index) => ({ index, reason: 'quota_exceeded' })),
        },
      ])
      const full = await send(entriesOf('quota-a', 2))
      expect([full.status, full.body.error.code]).toEqual([429, 'quota_exceeded'])
      const retryAfter = Number(full.headers.get('retry-after'))
      expect(retryAfter).toBeGreaterThan(0)
      expect(retryAfter).toBeLessThanOrEqual(86_400)
      const { body: found } = await admin('POST', '/api/sources/quota_logs/search', {
        query: 'project:quota-a',
      })
      expect(found).toHaveLength(10)
      const { body: kept } = await admin('POST', '/api/sources/quarantine/search', {
        query: 'quota_exceeded',
      })
      expect(kept).toEqual([])
      await expect
        .poll(async () => (await events('quota-a')).map(({ percent }: { percent: number }) => percent).sort())
        .toEqual([100, 80])
      for (const event of await events('quota-a')) {
        expect(event).toMatchObject({ kind: 'quota', limit: 'entries_per_day', used: 10, max: 10 })
      }
    })

    test('tell that a day is used up by a request of which nothing is stored', async () => {
      await admin('PUT', '/api/projects/quota-l', { plan: 'QUOTA_10' })
      expect((await send(entriesOf('quota-l', 7))).status).toBe(200)
      await admin('POST', '/api/plans', { name: 'QUOTA_5', entries_per_day: 5 })
      await admin('PUT', '/api/projects/quota-l', { plan: 'QUOTA_5' })
      expect((await send(entriesOf('quota-l', 1))).status).toBe(429)
      // Reading stores the counts, too.
      await usageOf('quota-l')
      await expect
        .poll(async () => (await events('quota-l')).map(({ used }: { used: number }) => used))
        .toEqual([7, 7])
    })

    test('do not count what rules drop, and refuse a request if none of its other entries fits', async () => {
      const rules = [{ drop: 'level:debug' }]
      expect((await admin('POST', '/api/sources', { name: 'quota_ruled', rules })).status).toBe(201)
      await admin('PUT', '/api/projects/quota-r', { plan: 'QUOTA_10' })
      const post = (...levels: string[]) =>
        admin(
          'POST',
          '/api/logs?source=quota_ruled',
          levels.map((level) => ({ project: 'quota-r', level })),
        )
      expect((await post(...Array(20).fill('debug'), ...Array(9).fill('info'))).body).toMatchObject({
        ...{ accepted: 9, dropped: 20, rejected: 0 },
      })
      expect((await post('debug', 'info', 'info')).body).toMatchObject({
        accepted: 1,
        dropped: 1,
        rejected: 1,
      })
      expect(await post('debug', 'info')).toMatchObject({
        ...{ status: 429, body: { error: { code: 'quota_exceeded' } } },
      })
      expect(await post('debug', 'debug')).toMatchObject({ status: 200, body: { accepted: 0, dropped: 2 } })
      expect(await usageOf('quota-r')).toMatchObject([{ entries: 10 }])
    })

    test('bound what the quarantine keeps of a project', async () => {
      await admin('PUT', '/api/projects/quota-q', { plan: 'QUOTA_10' })
      const { token } = await makeToken(running(), { scopes: ['ingest', 'search'], project: 'quota-q' })
      const post = (entries: object[]) =>
        ask(running(), token, 'POST', '/api/logs?source=quota_logs', entries)
      const bad = { timestamp: 'no time' }
      const { body } = await post([...entriesOf('quota-q', 4), ...Array(4).fill(bad)])
      expect(body).toMatchObject({ accepted: 4, rejected: 4 })
      expect((await post(Array(9).fill(bad))).body).toMatchObject({ accepted: 0, rejected: 9 })
      const kept = () => admin('POST', '/api/sources/quarantine/search', { project: 'quota-q', limit: 100 })
      expect((await kept()).body).toHaveLength(6)
      // What is kept of rejected entries leaves room for others.
      expect((await post(entriesOf('quota-q', 7))).body).toMatchObject({ accepted: 6, rejected: 1 })
      await post([bad])
      expect((await kept()).body).toHaveLength(6)
      expect(await usageOf('quota-q')).toMatchObject([{ entries: 10 }])
    })

    test('count entries of projects with any name', async () => {
      const entries_per_day = 2
      await admin('POST', '/api/plans', { name: 'default', entries_per_day })
      const names = ['quota-ü\t\u0000\u007f', `quota-${'x'.repeat(994)}`]
      for (const project of names) {
        expect((await send(entriesOf(project, 3))).body).toMatchObject({ accepted: 2, rejected: 1 })
        expect(await usageOf(encodeURIComponent(project))).toMatchObject([{ project, entries: 2 }])
      }
      expect((await admin('DELETE', '/api/plans/default')).status).toBe(204)
      const long = await send(entriesOf(`quota-${'x'.repeat(995)}`, 1))
      expect(long.body.errors).toEqual([{ index: 0, reason: 'project is longer than 1000 characters' }])
    })

    test('count bytes, and a smaller entry may still fit', async () => {
      await admin('PUT', '/api/projects/quota-b', { plan: 'QUOTA_BYTES' })
      const large = { project: 'quota-b', event_message: 'x'.repeat(700) }
      const { body } = await send([large, large, { project: 'quota-b', event_message: 'y' }])
      expect(body).toMatchObject({ accepted: 2, errors: [{ index: 1, reason: 'quota_exceeded' }] })
    })

    test('are named by a response to OpenTelemetry, which is refused if nothing is left', async () => {
      await admin('PUT', '/api/projects/quota-o', { plan: 'QUOTA_10' })
      const sender = await makeToken(running(), { scopes: ['ingest'], project: 'quota-o' })
      const logs = (count: number) => ({
        resourceLogs: [
          { scopeLogs: [{ logRecords: Array(count).fill({ body: { stringValue: 'record' } }) }] },
        ],
      })
      const post = (count: number) => ask(running(), sender.token, 'POST', '/v1/logs', logs(count))
      expect(await post(12)).toMatchObject({
        status: 200,
        body: { partialSuccess: { rejectedLogRecords: '2', errorMessage: 'quota_exceeded' } },
      })
      const refused = await post(1)
      expect(refused.status).toBe(429)
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    })

    test('hold for many requests at once, and a repeated request counts once', async () => {
      await admin('PUT', '/api/projects/quota-m', { plan: 'QUOTA_10' })
      const all = await Promise.all(Array.from({ length: 20 }, () => send(entriesOf('quota-m', 1))))
      expect(all.filter(({ status }) => status === 200)).toHaveLength(10)
      await admin('PUT', '/api/projects/quota-i', { plan: 'QUOTA_10' })
      const key = { 'Idempotency-Key': 'quota-once' }
      for (let i = 0; i < 3; i++) {
        expect((await send(entriesOf('quota-i', 6), key)).body.accepted).toBe(6)
      }
      expect((await usageOf('quota-i'))[0].entries).toBe(6)
    })
  })

  describe('usage', () => {
    test('is exact, a row for each project and day, for tenants their own without times of the engine', async () => {
      await admin('POST', '/api/endpoints', {
        name: 'usage.cached',
        query: 'SELECT count() AS n FROM quota_logs',
        published: true,
        cache_seconds: 600,
      })
      const tenant = await makeToken(running(), { scopes: ['query'], project: 'usage-a' })
      const ask3 = () => ask(running(), tenant.token, 'GET', '/api/endpoints/query/usage.cached')
      expect(
        (await send([...entriesOf('usage-a', 4), { timestamp: 'no time' }, ...entriesOf('usage-b', 1)]))
          .status,
      ).toBe(200)
      for (let i = 0; i < 4; i++) expect((await ask3()).status).toBe(200)
      const day = new Date().toISOString().slice(0, 10)
      await expect
        .poll(async () => (await usageOf('usage-a'))[0])
        .toEqual({
          ...{ project: 'usage-a', day, entries: 4, requests: 4, cache_hits: 3 },
          bytes: expect.any(Number),
          engine_ms: expect.any(Number),
        })
      const own = await ask(running(), tenant.token, 'GET', '/api/project-usage')
      expect(own.body).toEqual([
        { project: 'usage-a', day, entries: 4, bytes: expect.any(Number), requests: 4, cache_hits: 3 },
      ])
      const foreign = await ask(running(), tenant.token, 'GET', '/api/project-usage?project=usage-b')
      expect(foreign.status).toBe(403)
      const csv = await admin('GET', '/api/project-usage?project=usage-a&_format=csv')
      expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
      expect(csv.body.split('\r\n')[0]).toBe(
        '"project","day","entries","bytes","requests","cache_hits","engine_ms"',
      )
      expect(csv.body).toContain(`"usage-a","${day}",4,`)
      const { body: listed } = await admin('GET', '/api/projects?search=USAGE-A')
      expect(listed).toEqual([
        {
          ...{ project: 'usage-a', plan: 'default', entries: 4 },
          bytes: expect.any(Number),
          last_entry_at: expect.stringContaining(day),
        },
      ])
    })

    test.each([
      ['from=2026-13-01', 'from'],
      ['from=2026-01-02&to=2026-01-01', 'from'],
      ['limit=0', 'limit'],
      ['_format=xml', '_format'],
    ])('refuses %s', async (query, parameter) => {
      const { status, body } = await admin('GET', `/api/project-usage?${query}`)
      expect([status, body.error.parameter]).toEqual([400, parameter])
    })

    test('of all projects needs a role', async () => {
      const sender = await makeToken(running(), { scopes: ['ingest'] })
      expect((await ask(running(), sender.token, 'GET', '/api/project-usage')).status).toBe(403)
    })
  })
}
