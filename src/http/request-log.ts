import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { queryCancelled } from '../base/errors.ts'
import { passedOn, readTraceContext, type TraceSpan, type Tracing } from '../base/tracing.ts'
import type { RequestCounts } from '../observability/metrics.ts'

declare module 'fastify' {
  interface FastifyRequest {
    isOver: boolean
    /** Whether the response is an event stream, which the client closes at any time. */
    isStream: boolean
    /** Undefined if neither the caller nor the service traces the request. */
    trace: TraceSpan | undefined
  }
}

export function requestIdOf(chosen: string | string[] | undefined): string {
  return typeof chosen === 'string' && /^[\w.-]{1,64}$/.test(chosen) ? chosen : randomUUID()
}

/** The URL without the query string, which may contain parameter values. */
export function pathOf(url: string): string {
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}

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

/** Logs, counts and traces every request. Must run before any hook that can refuse a request. */
export function logRequests(server: FastifyInstance, traces: RequestTraces, requests: RequestCounts): void {
  server.decorateRequest('isOver', false)
  server.decorateRequest('isStream', false)
  server.decorateRequest('trace', undefined)
  const end = (request: FastifyRequest, reply: FastifyReply, status: number) => {
    if (request.isOver) return
    request.isOver = true
    const { trace, recorded, method } = request
    const endpoint = recorded?.endpoint?.definition.name
    if (trace) traces.end(trace, status, endpoint === undefined ? {} : { 'wellhead.endpoint': endpoint })
    requests.add(status)
    const ms = Math.round(reply.elapsedTime * 100) / 100
    // Headers and the query string contain tokens and parameter values.
    request.log.info({ method, path: pathOf(request.url), status, ms, ...traceFields(trace) }, 'request')
  }
  server.addHook('onRequest', (request, reply, done) => {
    const { traceparent, tracestate } = request.headers
    if (traces.active || traceparent !== undefined) {
      const { method, url, routeOptions } = request
      // Health checks are not traced, nor are unknown paths: if this service received its own spans, each would cause more.
      const route = routeOptions.logLevel === 'silent' ? undefined : routeOptions.url
      // Ignores a header that is sent twice.
      request.trace = traces.begin(method, route, url, text(traceparent), text(tracestate))
    }
    // The framework reports sent responses only, and a canceled request counts, too.
    reply.raw.once('close', () =>
      end(request, reply, request.isStream ? reply.statusCode : queryCancelled.status),
    )
    done()
  })
  server.addHook('onResponse', (request, reply, done) => {
    end(request, reply, reply.statusCode)
    done()
  })
}

/** Node gives an array for some headers that are sent twice. */
export function text(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined
}

export function traceFields(trace: TraceSpan | undefined): { trace_id?: string; span_id?: string } {
  return trace ? { trace_id: trace.context.traceId, span_id: trace.context.spanId } : {}
}
