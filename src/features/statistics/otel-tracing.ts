/** The only file that imports OpenTelemetry. It is loaded only if traces are enabled. */
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
import { BasicTracerProvider, BatchSpanProcessor, ConsoleSpanExporter } from '@opentelemetry/sdk-trace-base'
import type { Log } from '../../core/base/log.ts'
import { version } from '../../core/base/package-file.ts'
import type { TraceContext, TraceSpan, Tracing } from '../../core/base/tracing.ts'
import type { TraceExporter } from './trace-exporters.ts'

const warnEveryMs = 60_000
const maxReasonLength = 300

/** The standard variables set the destination, sampling and resource attributes of spans. */
export function startTracing(exporters: readonly TraceExporter[], log: Log): Tracing {
  const warn = exportWarnings(log)
  const quiet = () => {}
  diag.setLogger(
    { error: warn, warn, info: quiet, debug: quiet, verbose: quiet },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'wellhead', 'service.version': version }).merge(
      detectResources({ detectors: [envDetector] }),
    ),
    spanProcessors: exporters.map(
      (exporter) =>
        new BatchSpanProcessor(exporter === 'otlp' ? new OTLPTraceExporter() : new ConsoleSpanExporter()),
    ),
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
    // An unreachable collector must not keep the service from stopping.
    stop: () => provider.shutdown().catch((error: Error) => warn(error.message)),
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
    child: (name, attributes) => {
      const kind = name === 'engine' ? SpanKind.CLIENT : SpanKind.INTERNAL
      const parent = trace.setSpan(context.active(), span)
      return spanOf(tracer, tracer.startSpan(name, { kind, ...(attributes && { attributes }) }, parent))
    },
    set: (attributes) => void span.setAttributes(attributes),
    end: (failure) => {
      if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure })
      span.end()
    },
  }
}

/** Logs failed exports without their stack, at most once a minute: an unreachable collector fails every few seconds. */
export function exportWarnings(
  log: Pick<Log, 'warn'>,
  monotonicMs: () => number = () => performance.now(),
): (message: string) => void {
  let warnedAtMs = Number.NEGATIVE_INFINITY
  return (message) => {
    if (monotonicMs() - warnedAtMs < warnEveryMs) return
    warnedAtMs = monotonicMs()
    // Errors of exports arrive as JSON with their whole stack.
    const reason = /"message":"((?:[^"\\]|\\.)*)"/.exec(message)?.[1] ?? message.split('\n', 1)[0] ?? ''
    log.warn({ reason: reason.slice(0, maxReasonLength) }, 'traces could not be exported')
  }
}
