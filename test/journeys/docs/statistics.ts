import { get } from 'node:http'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import type { SlowRequest } from '../../../src/features/statistics/report/request-report.ts'
import { ask, type MadeToken, makeToken } from '../../support/callers.ts'
import { promtoolProblems } from '../../support/metrics.ts'
import type { RunningService } from '../../support/service.ts'

const patient = { timeout: 60_000 }
const secret = 'a-value-that-nobody-may-see'

export function statisticsJourneys(running: () => RunningService): void {
  describe('request statistics', () => {
    let tenant: MadeToken
    let other: MadeToken
    const admin = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
      ask(running(), running().adminToken.token, method, path, body, headers)
    const query = '/api/endpoints/query'
    const stats = async (path: string, token = running().adminToken.token) => {
      await running().statistics?.flush()
      const headers = { 'Cache-Control': 'no-cache' }
      const { status, body } = await ask(running(), token, 'GET', `${query}/${path}`, undefined, headers)
      expect([path, status, body]).toEqual([path, 200, expect.anything()])
      return body.result as Record<string, unknown>[]
    }
    const recorded = async (endpoint: string) => {
      await running().statistics?.flush()
      const { body } = await admin('GET', '/api/sources/endpoint_requests/recent?limit=1000')
      return (body as { project: string; metadata: Record<string, unknown> }[]).filter(
        ({ metadata }) => metadata.endpoint === endpoint,
      )
    }

    beforeAll(async () => {
      tenant = await makeToken(running(), { scopes: ['query'], project: 'blue' })
      other = await makeToken(running(), { scopes: ['query'], project: 'green' })
      for (const [name, fields] of Object.entries({
        'watched.cached': { query: 'SELECT @text AS text', cache_seconds: 600 },
        'watched.plain': { query: 'SELECT count() AS n FROM edge_logs WHERE event_message = @text' },
        'watched.slow': {
          query: 'SELECT max(cityHash64(number, @text)) AS n FROM numbers(20000000000)',
          timeout_seconds: 1,
        },
        'watched.lasting': {
          query: 'SELECT max(cityHash64(number, @text)) AS n FROM numbers(@rows)',
          parameters: { text: {}, rows: { type: 'integer', required: true, example: 1 } },
        },
      })) {
        const made = await admin('POST', '/api/endpoints', {
          published: true,
          name,
          parameters: { text: {} },
          ...fields,
        })
        expect(made.status).toBe(201)
      }
    })

    test('each request is an entry that saved SQL can read, without parameter values', async () => {
      const entries = [{ event_message: secret }, { event_message: 'other' }]
      await admin('POST', '/api/logs?source=edge_logs', entries)
      const cached = `${query}/watched.cached?text=${secret}`
      for (let i = 0; i < 3; i++) await ask(running(), tenant.token, 'GET', cached)
      const { headers } = await ask(running(), tenant.token, 'GET', cached)
      const conditional = { 'If-None-Match': headers.get('etag') as string }
      expect((await ask(running(), tenant.token, 'GET', cached, undefined, conditional)).status).toBe(304)
      await admin('POST', `${query}/watched.plain`, { text: secret })
      await admin('GET', `${query}/watched.plain?text=1&text=2`)
      await admin('GET', `${query}/watched.plain?text=${secret}&_explain`)

      const calls = await recorded('watched.cached')
      const outcomes = calls.map(({ project, metadata: { status, cache, token_id, method } }) =>
        [project, status, cache, token_id, method].join(' '),
      )
      const hit = `blue 200 hit ${tenant.id} GET`
      // fetch adds `Cache-Control: no-cache` to a request with If-None-Match.
      expect(outcomes.sort()).toEqual(
        [`blue 200 miss ${tenant.id} GET`, hit, hit, hit, `blue 304 bypass ${tenant.id} GET`].sort(),
      )
      expect(calls.find(({ metadata }) => metadata.cache === 'miss')?.metadata).toMatchObject({
        version: 1,
        rows: 1,
        calls: 1,
        format: 'json',
        bytes: expect.any(Number),
      })
      const plain = await recorded('watched.plain')
      expect(plain.map(({ metadata: { status, code, cache } }) => [status, code, cache])).toEqual([
        [400, 'invalid_parameter', 'none'],
        [200, undefined, 'none'],
      ])
      expect(JSON.stringify([...calls, ...plain])).not.toContain(secret)
    })

    test('the shipped endpoints count requests by endpoint and by token, for operators', async () => {
      await ask(running(), other.token, 'GET', `${query}/watched.cached?text=x`)
      // The requests may fall into two minutes.
      const all = await stats('wellhead.endpoint-stats?endpoint=watched.cached')
      const sumOf = (value: (row: (typeof all)[number]) => number) =>
        all.reduce((sum, row) => sum + value(row), 0)
      expect(new Set(all.map(({ endpoint }) => endpoint))).toEqual(new Set(['watched.cached']))
      expect(sumOf(({ calls }) => Number(calls))).toBe(6)
      expect(sumOf(({ errors }) => Number(errors))).toBe(0)
      expect(sumOf(({ calls, hit_ratio }) => Number(calls) * Number(hit_ratio))).toBeCloseTo(3, 3)
      for (const { p50_ms, p99_ms } of all) expect(p50_ms).toBeLessThanOrEqual(p99_ms as number)
      expect((await ask(running(), other.token, 'GET', `${query}/wellhead.endpoint-stats`)).status).toBe(404)
      const callers = await stats('wellhead.top-callers?endpoint=watched.cached&interval=1day')
      expect(callers.map(({ token_id, calls }) => [token_id, calls])).toEqual([
        [tenant.id, 5],
        [other.id, 1],
      ])
      for (const interval of ['5min', '1day', '7day']) {
        const sums = await stats(`wellhead.endpoint-stats?interval=${interval}&endpoint=watched.plain`)
        expect(sums.reduce((sum, { calls }) => sum + Number(calls), 0)).toBe(2)
        const times = sums.map(({ timestamp }) => Number(timestamp))
        expect(times).toEqual([...times].sort((one, another) => another - one))
        expect(sums.reduce((sum, { errors }) => sum + Number(errors), 0)).toBe(1)
      }
    })

    test('callers cannot write to the statistics', async () => {
      const sent = await admin('POST', '/api/logs?source=endpoint_requests', [{ message: 'a call' }])
      expect([sent.status, sent.body.error.code]).toEqual([403, 'forbidden'])
      const headers = { 'X-Wellhead-Source': 'endpoint_requests' }
      const logRecords = [{ body: { stringValue: 'a call' } }]
      const records = { resourceLogs: [{ scopeLogs: [{ logRecords }] }] }
      expect((await admin('POST', '/v1/logs', records, headers)).status).toBe(403)
    })

    test('slow and failed requests are listed without parameter values', async () => {
      const slow = async (name: string) =>
        (await admin('GET', `/api/endpoints/watched.${name}/slow`)).body as SlowRequest[]
      const path = `${query}/watched.lasting?text=${secret}&rows=1000`
      expect((await admin('GET', path)).status).toBe(200)
      const failed = await admin('GET', `${query}/watched.slow?text=${secret}`, undefined, {
        'X-Request-Id': 'the-slow-one',
      })
      expect([failed.status, failed.body.error.code]).toEqual([504, 'query_timeout'])
      const times = (await recorded('watched.slow')).map(({ metadata }) => Number(metadata.engine_ms))
      const [reached] = await slow('lasting')
      expect(reached).toMatchObject({ status: 200, code: null, token_id: 'admin', cache: 'none' })
      const [listed] = (await slow('slow')) as [SlowRequest]
      expect(listed).toMatchObject({
        status: 504,
        code: 'query_timeout',
        request_id: 'the-slow-one',
        token_id: 'admin',
        cache: 'none',
      })
      // It timed out after a second, most of which is engine time.
      expect(listed.engine_ms).toBeGreaterThan(500)
      // Both are rounded.
      expect(times.some((ms) => Math.abs(ms - listed.engine_ms) < 0.2)).toBe(true)
      expect(JSON.stringify([await slow('lasting'), await slow('slow')])).not.toContain(secret)
      expect((await admin('GET', '/api/endpoints/watched.cached/slow')).body).toContainEqual(
        expect.objectContaining({ status: 200, code: null, cache: 'miss' }),
      )
      expect((await admin('GET', '/api/endpoints/nothing/slow')).status).toBe(404)
    })

    test('an abandoned request is recorded with status 499', async () => {
      const before = (await recorded('watched.slow')).length
      const { url, adminToken } = running()
      await new Promise<void>((resolve) => {
        const request = get(`${url}${query}/watched.slow?text=gone`, {
          headers: { 'X-API-KEY': adminToken.token },
        })
        request.on('error', () => resolve())
        request.on('close', () => resolve())
        // Leaves as soon as the request is sent.
        request.on('finish', () => request.destroy())
      })
      await vi.waitFor(async () => {
        const [newest] = await recorded('watched.slow')
        expect(newest?.metadata).toMatchObject({ status: 499, code: 'query_cancelled' })
      }, patient)
      expect(await recorded('watched.slow')).toHaveLength(before + 1)
    })

    test('metrics have the same counts in a format that Prometheus accepts', async ({ skip }) => {
      const { status, headers, body } = await admin('GET', '/metrics')
      expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
      const value = (line: string) =>
        Number(
          body
            .split('\n')
            .find((one: string) => one.startsWith(`${line} `))
            ?.split(' ')
            .at(-1),
        )
      const labels = 'endpoint="watched.cached",status="2xx",cache="hit"'
      expect(value(`wellhead_call_duration_seconds_count{${labels}}`)).toBe(3)
      expect(value(`wellhead_call_duration_seconds_bucket{le="+Inf",${labels}}`)).toBe(3)
      expect(value('wellhead_engine_up')).toBe(1)
      expect(value('wellhead_query_runs_total{purpose="call"}')).toBeGreaterThan(3)
      // One of them timed out after a second.
      expect(value('wellhead_query_engine_seconds_total{purpose="call"}')).toBeGreaterThan(0.5)
      expect(value('wellhead_ingest_entries_total{source="edge_logs",result="stored"}')).toBeGreaterThan(0)
      expect(value('wellhead_source_parts{source="edge_logs"}')).toBeGreaterThan(0)
      expect(value('wellhead_calls_unrecorded_total')).toBe(0)
      expect(body).not.toContain(secret)
      const problems = promtoolProblems(body)
      if (problems === undefined) skip('promtool is not installed')
      expect(problems).toBe('')
    })

    test('requests with a valid or invalid traceparent succeed', async () => {
      const headers = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }
      const responses = [
        await admin('GET', `${query}/watched.cached?text=traced`, undefined, headers),
        await admin('GET', `${query}/watched.cached?text=traced`, undefined, headers),
        await admin('GET', `${query}/watched.cached?text=traced`, undefined, { traceparent: 'no trace' }),
      ]
      expect(responses.map(({ status }) => status)).toEqual([200, 200, 200])
    })
  })
}
