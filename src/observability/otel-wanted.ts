export type TraceExporter = 'otlp' | 'console'

type Environment = Readonly<Record<string, string | undefined>>

const endpoints = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']

/**
 * Where traces shall go, after OpenTelemetry's own variables; nowhere unless one of them asks for it. Beyond their rules a
 * receiver must be named for traces to be made: whoever sets nothing wants nothing.
 */
export function wantedExporters(environment: Environment): TraceExporter[] {
  if (environment.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return []
  const named = environment.OTEL_TRACES_EXPORTER?.trim()
  if (!named) return endpoints.some((name) => environment[name]?.trim()) ? ['otlp'] : []
  const wanted = new Set(named.split(',').map((name) => name.trim().toLowerCase()))
  return (['otlp', 'console'] as const).filter((exporter) => wanted.has(exporter))
}

/** The one protocol that is spoken, where another one is asked for. */
export function unspokenProtocol(environment: Environment): string | undefined {
  const protocol = environment.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL || environment.OTEL_EXPORTER_OTLP_PROTOCOL
  return protocol && protocol !== 'http/protobuf' ? protocol : undefined
}
