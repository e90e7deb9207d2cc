import type { FastifyInstance } from 'fastify'
import { passedOn, readTraceContext, type TraceSpan, type Tracing } from '../base/tracing.ts'
import type { RequestEnds } from './request-ends.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined if neither the caller nor the service traces the request. */
    trace: TraceSpan | undefined
  }
}

/** Continues traces of callers, and creates spans if tracing is configured. */
export class RequestTraces {
  readonly #tracing: Tracing | undefined

  constructor(tracing: Tracing | undefined) {
    this.#tracing = tracing
  }

  /** Whether every request gets a trace. */
  get active(): boolean {
    return this.#tracing !== undefined
  }

  /** Without a route, passes on the caller's trace and creates no span. */
  begin(
    method: string,
    route: string | undefined,
    url: string,
    traceparent?: string,
    tracestate?: string,
  ): TraceSpan | undefined {
    const parent = traceparent === undefined ? undefined : readTraceContext(traceparent, tracestate)
    if (this.#tracing === undefined || route === undefined) return parent && passedOn(parent)
    return this.#tracing.start(`${method} ${route}`, parent, {
      'http.request.method': method,
      'http.route': route,
      'url.path': url.split('?', 1)[0] as string,
      'url.scheme': 'http',
    })
  }

  end(span: TraceSpan, status: number, attributes: Record<string, string> = {}): void {
    span.set({ 'http.response.status_code': status, ...attributes })
    span.end(status >= 500 ? String(status) : undefined)
  }
}

/** Must run before any hook that can refuse a request. */
export function addRequestTraces(server: FastifyInstance, traces: RequestTraces, ends: RequestEnds): void {
  server.decorateRequest('trace', undefined)
  server.addHook('onRequest', (request, _reply, done) => {
    const { traceparent, tracestate } = request.headers
    if (traces.active || traceparent !== undefined) {
      const { method, url, routeOptions } = request
      // Health checks are not traced, nor are unknown paths: if this service received its own spans, each would cause more.
      const route = routeOptions.logLevel === 'silent' ? undefined : routeOptions.url
      // Ignores a header that is sent twice.
      request.trace = traces.begin(method, route, url, text(traceparent), text(tracestate))
    }
    done()
  })
  ends.onEnd(({ trace, recorded }, _reply, status) => {
    const endpoint = recorded?.endpoint?.definition.name
    if (trace) traces.end(trace, status, endpoint === undefined ? {} : { 'wellhead.endpoint': endpoint })
  })
}

function text(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined
}

/** The trace's fields of a log line. */
export function traceFields(trace: TraceSpan | undefined): { trace_id?: string; span_id?: string } {
  return trace ? { trace_id: trace.context.traceId, span_id: trace.context.spanId } : {}
}
