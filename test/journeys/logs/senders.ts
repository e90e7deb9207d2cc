import { OTLPLogExporter as JsonExporter } from '@opentelemetry/exporter-logs-otlp-http'
import { OTLPLogExporter as ProtobufExporter } from '@opentelemetry/exporter-logs-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import { pino } from 'pino'
import { createWriteStream } from 'pino-logflare'
import { describe, expect, test, vi } from 'vitest'
import { logClient } from '../../support/log-client.ts'
import type { RunningService } from '../../support/service.ts'

export function describeLogSenders(service: () => RunningService): void {
  const { recent } = logClient(service)

  describe('existing clients', () => {
    test('works with a pino transport for Logflare', async () => {
      const stream = createWriteStream({
        apiKey: service().adminToken.token,
        sourceName: 'gotrue.logs.prod',
        apiBaseUrl: service().url,
        size: 1,
      })
      pino({ base: { project: 'from-pino' } }, stream).info({ user: { id: 7 } }, 'signed in')
      const seen = async () =>
        (await recent('auth_logs')).filter(({ event_message }) => event_message === 'signed in')
      await vi.waitFor(async () => expect(await seen()).toHaveLength(1), { timeout: 60_000 })
      const [entry] = await seen()
      expect(JSON.stringify(entry?.metadata)).toContain('"user":{"id":7}')
    })

    test.each([
      ['protobuf', ProtobufExporter],
      ['JSON', JsonExporter],
    ] as const)("OpenTelemetry's exporter for %s works unchanged", async (encoding, Exporter) => {
      const exporter = new Exporter({
        url: `${service().url}/v1/logs`,
        headers: { 'X-API-KEY': service().adminToken.token },
        compression: 'gzip' as never,
      })
      const provider = new LoggerProvider({
        resource: resourceFromAttributes({ 'service().name': 'shop', project: 'otel' }),
        processors: [new BatchLogRecordProcessor({ exporter })],
      })
      provider.getLogger('checkout', '1.2').emit({
        body: `paid by ${encoding}`,
        severityNumber: 9,
        severityText: 'INFO',
        attributes: { 'order.id': 42 },
      })
      await provider.forceFlush()
      await provider.shutdown()
      const entry = (await recent('otel_logs')).find(
        ({ event_message }) => event_message === `paid by ${encoding}`,
      )
      expect(entry).toMatchObject({
        project: 'otel',
        metadata: {
          resource: { 'service().name': 'shop' },
          attributes: { 'order.id': 42 },
          severity_text: 'INFO',
        },
      })
    })

    test('reports rejected OpenTelemetry records as a partial success', async () => {
      const record = (source: string) => ({
        body: { stringValue: 'x' },
        attributes: [{ key: 'wellhead.source', value: { stringValue: source } }],
      })
      const body = {
        resourceLogs: [{ scopeLogs: [{ logRecords: [record('edge_logs'), record('nowhere')] }] }],
      }
      const post = (text: string, type = 'application/json') =>
        service().call('/v1/logs', { method: 'POST', headers: { 'Content-Type': type }, body: text })
      const partial = await post(JSON.stringify(body))
      expect([partial.status, await partial.json()]).toEqual([
        200,
        { partialSuccess: { rejectedLogRecords: '1', errorMessage: 'No source has the name "nowhere".' } },
      ])
      expect((await post('{')).status).toBe(400)
      expect((await post('{}', 'text/plain')).status).toBe(415)
      expect(await (await post('{}')).json()).toEqual({})
    })
  })
}
