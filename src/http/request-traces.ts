import type { FastifyInstance } from 'fastify'
import { passedOn, readTraceContext, type TraceSpan, type Tracing } from '../base/tracing.ts'
import type { RequestEnds } from './request-ends.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined where neither the caller nor the service keeps a trace. */
    trace: TraceSpan | undefined
  }
}

/** Takes up the traces of callers, and makes spans where somebody collects them. */
export class RequestTraces {
  readonly #tracing: Tracing | undefined

  constructor(tracing: Tracing | undefined) {
    this.#tracing = tracing
  }

  /** Whether requests have a trace even where their callers keep none. */
  get active(): boolean {
    return this.#tracing !== undefined
  }

  /** Without a route it is no work that somebody wants to see: a trace goes on, and no span is made. */
  begin(
    method: string,
    route: string | undefined,
    traceparent?: string,
    tracestate?: string,
  ): TraceSpan | undefined {
    const parent = traceparent === undefined ? undefined : readTraceContext(traceparent, tracestate)
    if (this.#tracing === undefined || route === undefined) return parent && passedOn(parent)
    return this.#tracing.start(`${method} ${route}`, parent, {
      'http.request.method': method,
      'http.route': route,
    })
  }

  end(span: TraceSpan, status: number, attributes: Record<string, string> = {}): void {
    span.set({ 'http.response.status_code': status, ...attributes })
    span.end(status >= 500 ? String(status) : undefined)
  }
}

/** Goes before whatever may refuse a request. */
export function addRequestTraces(server: FastifyInstance, traces: RequestTraces, ends: RequestEnds): void {
  server.decorateRequest('trace', undefined)
  server.addHook('onRequest', (request, _reply, done) => {
    const { traceparent, tracestate } = request.headers
    if (traces.active || traceparent !== undefined) {
      const { url, logLevel } = request.routeOptions
      // What is asked for all the time is in no log either. And where nothing is, spans would beget spans if they were
      // sent to this service.
      const route = logLevel === 'silent' ? undefined : url
      // One that is sent twice is none.
      request.trace = traces.begin(request.method, route, text(traceparent), text(tracestate))
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

/** What the line of a request in the log says of its trace. */
export function traceFields(trace: TraceSpan | undefined): { trace_id?: string; span_id?: string } {
  return trace ? { trace_id: trace.context.traceId, span_id: trace.context.spanId } : {}
}
