import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import { logClient } from '../../support/log-client.ts'
import { logflareDrain } from '../../support/network/logflare-drain.ts'
import type { RunningService } from '../../support/service.ts'

const metadata = {
  request: {
    method: 'GET',
    path: '/auth/v1/user',
    cf: { asn: 16509, botManagement: { detectionIds: [1, 2] } },
  },
  response: { status_code: 200, origin_time: 13.5, cached: false },
  list: [{ a: 1 }, [2, [3, { deep: true }]], 'text', null],
}
const micros = () => Date.now() * 1000
const protobuf = { 'Content-Type': 'application/x-protobuf', 'Content-Encoding': 'gzip' }

export function describeHostedDrains(service: () => RunningService): void {
  const { recent } = logClient(service)
  const drain = (body: Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
    service().call('/v1/logs', {
      method: 'POST',
      headers: { ...protobuf, ...headers },
      body: gzipSync(body),
    })
  const entryOf = async (source: string, message: string) =>
    (await recent(source)).find(({ event_message }) => event_message === message)
  const sendEvents = (token: string, events: unknown) => ask(service(), token, 'POST', '/api/logs', events)

  describe("drains of Supabase's platform", () => {
    test('stores an OTLP event as if it had been sent to its source', async () => {
      const timestamp = micros()
      const event = {
        id: 'drained-1',
        identifier: 'ref',
        project: 'ref',
        event_message: 'GET | 200',
        metadata,
      }
      expect((await drain(logflareDrain('cloudflare.logs.prod', [{ ...event, timestamp }]))).status).toBe(200)
      const entry = await entryOf('edge_logs', 'GET | 200')
      expect(entry).toMatchObject({ id: 'drained-1', project: 'ref' })
      expect(entry?.timestamp).toBe(timestamp)
      expect(entry?.metadata).toMatchObject({
        ...metadata,
        identifier: 'ref',
        scope: { name: 'cloudflare.logs.prod' },
      })
      for (const key of ['metadata', 'body', 'event_name', 'timestamp', 'project']) {
        expect(entry?.metadata).not.toHaveProperty(key)
      }
    })

    test('keeps severity, attributes, and ids of any form', async () => {
      const ids = ['5B8EFFF798038103D269B633813FC60C', 'trace-1', 'checkout_17-3456', 'x'.repeat(64), 'ünï']
      const events = ids.map((trace_id) => ({
        ...{
          event_message: `traced ${trace_id}`,
          timestamp: micros(),
          trace_id,
          span_id: 'eee19b7ec3c1b174',
        },
        ...{ severity_text: 'WARN', severity_number: 13, attributes: { a: [1, { b: null }] } },
      }))
      await drain(logflareDrain('postgres_logs', events))
      for (const id of ids) {
        expect((await entryOf('postgres_logs', `traced ${id}`))?.metadata).toMatchObject({
          trace_id: id.length === 32 ? id.toLowerCase() : id,
          ...{ span_id: 'eee19b7ec3c1b174', severity_text: 'WARN', severity_number: 13 },
          attributes: { a: [1, { b: null }] },
        })
      }
      const long = { event_message: 'long', trace_id: 'y'.repeat(65) }
      const partial = await drain(logflareDrain('postgres_logs', [long, { event_message: 'short' }]))
      expect(await partial.text()).toContain('longer than 64 characters')
      expect(await entryOf('postgres_logs', 'short')).toBeDefined()
      expect(await entryOf('postgres_logs', 'long')).toBeUndefined()
    })

    test('takes the message and the time from the body if it has them', async () => {
      const [own, other] = ['2026-11-01T00:00:00.000Z', '2026-11-02T00:00:00.000Z'].map(
        (time) => Date.parse(time) * 1000,
      )
      const body = { message: 'own text', timestamp: own, resource: 'own', project: 'abc' }
      const record = (extra: object) => ({
        eventName: 'a.name',
        body: {
          kvlistValue: {
            values: Object.entries(body).map(([key, value]) => ({
              key,
              value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
            })),
          },
        },
        ...extra,
      })
      const sent = {
        resourceLogs: [
          {
            resource: { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] },
            scopeLogs: [
              {
                scope: { name: 'storage.logs.prod.2' },
                logRecords: [record({}), record({ timeUnixNano: `${other}000` })],
              },
            ],
          },
        ],
      }
      expect((await ask(service(), service().adminToken.token, 'POST', '/v1/logs', sent)).status).toBe(200)
      const entries = (await recent('storage_logs')).filter(({ project }) => project === 'abc')
      expect(entries.map(({ timestamp }) => timestamp)).toEqual([other, own])
      for (const { event_message, metadata } of entries) {
        expect(event_message).toBe('own text')
        expect(metadata).toMatchObject({
          event_name: 'a.name',
          resource: 'own',
          _other: { resource: { 'service.name': 'shop' } },
        })
      }
      expect(entries.map(({ metadata }) => metadata.timestamp)).toEqual([own, undefined])
    })

    test('a body of text keeps its event name, and chooses its source as well', async () => {
      const record = { eventName: 'a.name', body: { stringValue: 'text body' } }
      const body = {
        resourceLogs: [{ scopeLogs: [{ scope: { name: 'realtime_logs' }, logRecords: [record] }] }],
      }
      await ask(service(), service().adminToken.token, 'POST', '/v1/logs', body)
      expect((await entryOf('realtime_logs', 'text body'))?.metadata).toMatchObject({ event_name: 'a.name' })
    })

    test('sends what its scope does not name, or may not be sent there, to the source of the request', async () => {
      const { token } = await makeToken(service(), {
        ...{ description: 'drain', scopes: ['ingest:otel_logs', 'ingest:auth_logs'], project: 'drained' },
      })
      const headers = { 'X-API-KEY': token }
      for (const scope of ['postgres.logs', 'nowhere', 'endpoint_requests']) {
        const sent = await drain(
          logflareDrain(scope, [{ event_message: `for ${scope}`, project: 'ref' }]),
          headers,
        )
        expect(sent.status).toBe(200)
        const entry = await entryOf('otel_logs', `for ${scope}`)
        expect([entry?.project, entry?.metadata.project]).toEqual(['drained', 'ref'])
      }
      const auth = logflareDrain('Logflare', [{ event_message: 'by service' }], {
        'service.name': 'gotrue.logs.prod',
      })
      const to = { ...headers, 'X-Wellhead-Source': 'otel_logs' }
      expect((await drain(auth, to)).status).toBe(200)
      expect((await entryOf('auth_logs', 'by service'))?.project).toBe('drained')
    })

    test('responds to tests of the connection', async () => {
      for (const body of [new Uint8Array(), logflareDrain('Logflare', [])]) {
        const response = await drain(body)
        expect([
          response.status,
          response.headers.get('content-type'),
          (await response.arrayBuffer()).byteLength,
        ]).toEqual([...[200, 'application/x-protobuf', 0]])
        const plain = { method: 'POST', headers: { 'Content-Type': 'application/x-protobuf' } }
        expect((await service().call('/v1/logs', { ...plain, body })).status).toBe(200)
        expect((await service().call('/v1/logs', plain)).status).toBe(200)
      }
      const { token } = service().adminToken
      expect((await sendEvents(token, [])).body).toMatchObject({ accepted: 0, rejected: 0 })
    })

    test('sorts events of the HTTP drain by the sources that they name', async () => {
      const { token } = await makeToken(service(), {
        ...{ description: 'drain', scopes: ['ingest:edge_logs', 'ingest:auth_logs'], project: 'drained' },
      })
      const event = (source: unknown, event_message: string) => ({
        source,
        event_message,
        project: 'ref',
        timestamp: micros(),
      })
      const sent = await sendEvents(token, [
        event('edge_logs', 'to edge'),
        event('postgres_logs', 'not mine'),
        event('gotrue.logs.prod', 'to auth'),
        event(7, 'none'),
        event('nowhere', 'unknown'),
        { ...event('auth_logs', 'old'), timestamp: 1 },
      ])
      expect(sent).toMatchObject({ status: 200, body: { accepted: 2, rejected: 4 } })
      expect(sent.body.errors.map(({ index }: { index: number }) => index)).toEqual([1, 3, 4, 5])
      const reasons = sent.body.errors.map(({ reason }: { reason: string }) => reason.replace(/"\w+"/, 'it'))
      expect(reasons[0]).toBe(reasons[2])
      for (const [source, message] of [
        ['edge_logs', 'to edge'],
        ['auth_logs', 'to auth'],
      ] as const) {
        const entry = await entryOf(source, message)
        expect([entry?.project, entry?.metadata.project]).toEqual(['drained', 'ref'])
      }
    })

    test('refuses events of which none names a source that it can be sent to', async () => {
      const { token } = await makeToken(service(), { description: 'drain', scopes: ['ingest:edge_logs'] })
      const codeOf = async (secret: string, source?: string) => {
        const { status, body } = await sendEvents(secret, [{ source, event_message: 'x' }])
        return [status, body.error.code]
      }
      expect(await codeOf(token)).toEqual([400, 'invalid_parameter'])
      expect(await codeOf(token, 'auth_logs')).toEqual([403, 'forbidden'])
      expect(await codeOf(token, 'nowhere')).toEqual([403, 'forbidden'])
      expect(await codeOf(service().adminToken.token, 'nowhere')).toEqual([404, 'source_not_found'])
      expect(await codeOf(service().adminToken.token, 'audit_events')).toEqual([403, 'forbidden'])
    })

    test('stores events with a key once', async () => {
      const events = [
        { source: 'edge_logs', event_message: 'once' },
        { source: 'auth_logs', event_message: 'once' },
      ]
      const send = () =>
        ask(service(), service().adminToken.token, 'POST', '/api/logs', events, {
          'Idempotency-Key': 'drain-once',
        })
      const [first, second] = [await send(), await send()]
      expect(second.headers.get('idempotency-replayed')).toBe('true')
      expect(second.body).toEqual(first.body)
      const all = [...(await recent('edge_logs')), ...(await recent('auth_logs'))]
      expect(all.filter(({ event_message }) => event_message === 'once')).toHaveLength(2)
    })
  })
}
