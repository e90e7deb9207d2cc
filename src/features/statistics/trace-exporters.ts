export type TraceExporter = 'otlp' | 'console'

type Environment = Readonly<Record<string, string | undefined>>

const endpoints = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']

/** The trace exporters that OpenTelemetry's own variables select. Unlike its SDK, none if no variable is set. */
export function traceExporters(environment: Environment): TraceExporter[] {
  if (environment.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return []
  const names = environment.OTEL_TRACES_EXPORTER?.trim()
  if (!names) return endpoints.some((name) => environment[name]?.trim()) ? ['otlp'] : []
  const selected = new Set(names.split(',').map((name) => name.trim().toLowerCase()))
  return (['otlp', 'console'] as const).filter((exporter) => selected.has(exporter))
}
