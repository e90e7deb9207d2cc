import { expect, test } from 'vitest'
import { traceExporters } from './trace-exporters.ts'

const endpoint = 'http://127.0.0.1:4318'

test.each<[Record<string, string>, string[]]>([
  [{}, []],
  [{ OTEL_SERVICE_NAME: 'logs' }, []],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, []],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }, ['otlp']],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint }, ['otlp']],
  [{ OTEL_TRACES_EXPORTER: 'otlp' }, ['otlp']],
  [{ OTEL_TRACES_EXPORTER: 'console, otlp' }, ['otlp', 'console']],
  [{ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }, []],
  [{ OTEL_TRACES_EXPORTER: 'zipkin', OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }, []],
  [{ OTEL_SDK_DISABLED: 'TRUE', OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }, []],
])('%j sends traces to %j', (environment, exporters) => {
  expect(traceExporters(environment)).toEqual(exporters)
})
