/** OpenTelemetry. This is the only file that imports it, and it is loaded only where traces are asked for. */
import {
  type Context,
  context,
  createTraceState,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ConsoleSpanExporter,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base'
import type { Log } from '../base/log.ts'
import type { TraceContext, TraceSpan, Tracing } from '../base/tracing.ts'
import { version } from '../base/version.ts'
import { exportWarnings } from './export-warnings.ts'
import type { TraceExporter } from './otel-wanted.ts'

/** Where spans go, how they are sampled and what they are labelled with is said by the standard variables. */
export function startTracing(exporters: readonly TraceExporter[], log: Log): Tracing {
  const say = exportWarnings(log)
  const quiet = () => {}
  diag.setLogger(
    { error: say, warn: say, info: quiet, debug: quiet, verbose: quiet },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'wellhead', 'service.version': version }).merge(
      detectResources({ detectors: [envDetector] }),
    ),
    spanProcessors: exporters.map((exporter) => new BatchSpanProcessor(exporterOf(exporter))),
  })
  const tracer = provider.getTracer('wellhead', version)
  return {
    start: (name, parent, attributes) => {
      const span = tracer.startSpan(
        name,
        { kind: SpanKind.SERVER, attributes },
        parent ? remoteContext(parent) : ROOT_CONTEXT,
      )
      return spanOf(tracer, span)
    },
    // A receiver that is away must not keep the service from stopping.
    stop: () => provider.shutdown().catch((error: Error) => say(error.message)),
  }
}

function exporterOf(exporter: TraceExporter): SpanExporter {
  switch (exporter) {
    case 'otlp':
      return new OTLPTraceExporter()
    case 'console':
      return new ConsoleSpanExporter()
  }
}

function remoteContext({ traceId, spanId, flags, state }: TraceContext): Context {
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: flags,
    isRemote: true,
    ...(state !== '' && { traceState: createTraceState(state) }),
  })
}

function spanOf(tracer: Tracer, span: Span): TraceSpan {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext()
  return {
    context: { traceId, spanId, flags: traceFlags, state: traceState?.serialize() ?? '' },
    child: (name, attributes) =>
      spanOf(
        tracer,
        tracer.startSpan(
          name,
          {
            kind: name === 'engine' ? SpanKind.CLIENT : SpanKind.INTERNAL,
            ...(attributes && { attributes }),
          },
          trace.setSpan(context.active(), span),
        ),
      ),
    set: (attributes) => void span.setAttributes(attributes),
    end: (failure) => {
      if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure })
      span.end()
    },
  }
}
