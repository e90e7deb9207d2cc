import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../access/caller.ts'
import { queryCancelled, rateLimited } from '../base/errors.ts'
import { type LineWriter, type Log, lineWriterOf } from '../base/log.ts'
import { passedOn, readTraceContext, type TraceSpan, type Tracing } from '../base/tracing.ts'
import type { EngineTime } from '../endpoints/call/call.ts'
import type { CallResponse } from '../endpoints/call/endpoint-calls.ts'
import type { Endpoint } from '../endpoints/definition/endpoint.ts'
import type { Endpoints } from '../endpoints/manage/endpoints.ts'
import type { Metrics, RequestCounts } from '../observability/metrics.ts'
import type { RequestRecord, RequestSubject } from '../observability/request-record.ts'
import type { RequestStatistics } from '../observability/request-statistics.ts'
import type { ProjectUsage } from '../projects/project-usage.ts'

declare module 'fastify' {
  interface FastifyRequest {
    isOver: boolean
    /** Whether the response is an event stream, which the client closes at any time. */
    isStream: boolean
    /** Undefined if neither the caller nor the service traces the request. */
    trace: TraceSpan | undefined
    recorded: RequestNotes | undefined
    errorCode: string
  }
}

/** What a request to an endpoint leaves for its record. */
export interface RequestNotes {
  endpoint?: Endpoint
  format?: string
  response?: CallResponse
  /** Also measured for requests that fail. */
  engineTime?: EngineTime
  /** Whether it must not be recorded. */
  done?: boolean
}

interface FinishedRequest {
  id: string
  method: string
  /** Without the query string, which may contain parameter values. */
  path: string
  status: number
  totalMs: number
  trace: TraceSpan | undefined
  /** Name of the endpoint, for the trace. */
  endpoint: string | undefined
  /** Undefined if it has none, or if it is not to be recorded. */
  record?: RequestRecord | undefined
}

type RequestEnd = Pick<RequestRecord, 'requestId' | 'status' | 'bytes' | 'code' | 'totalMs'> & {
  caller: Caller
  method: string
}

interface RequestRecorderOptions {
  log: Log
  /** Undefined if the service sends no traces. */
  tracing: Tracing | undefined
  requests: RequestCounts
  /** Undefined if requests to endpoints are not recorded. */
  statistics: RequestStatistics | undefined
  metrics: Metrics
  endpoints: Endpoints
  usage: Pick<ProjectUsage, 'called'>
}

export const queryRoute = '/api/endpoints/query/:reference'

/** Logs, counts and traces every request, and records those to endpoints. Each is reported once, when it is over. */
export class RequestRecorder {
  readonly #options: RequestRecorderOptions
  readonly #writeLine: LineWriter | undefined

  constructor(options: RequestRecorderOptions) {
    this.#options = options
    this.#writeLine = lineWriterOf(options.log)
  }

  /** Must run before any hook that can refuse a request. */
  addTo(server: FastifyInstance): void {
    server.decorateRequest('isOver', false)
    server.decorateRequest('isStream', false)
    server.decorateRequest('trace', undefined)
    server.decorateRequest('recorded', undefined)
    server.decorateRequest('errorCode', '')
    server.addHook('onRequest', (request, reply, done) => {
      const { method, url, routeOptions, headers } = request
      // Health checks are not traced, nor are unknown paths: if this service received its own spans, each would cause more.
      request.trace = this.trace(method, isSilent(request) ? undefined : routeOptions.url, url, headers)
      // The framework reports sent responses only, and a canceled request counts, too.
      reply.raw.once('close', () =>
        this.#end(request, reply, request.isStream ? reply.statusCode : queryCancelled.status),
      )
      done()
    })
    server.addHook('onResponse', (request, reply, done) => {
      this.#end(request, reply, reply.statusCode)
      done()
    })
  }

  /** Without a route, passes on the caller's trace and creates no span. */
  trace(
    method: string,
    route: string | undefined,
    url: string,
    headers: IncomingHttpHeaders,
  ): TraceSpan | undefined {
    const { tracing } = this.#options
    const { traceparent, tracestate } = headers
    if (tracing === undefined && traceparent === undefined) return undefined
    // Ignores a header that is sent twice.
    const parent = readTraceContext(text(traceparent), text(tracestate))
    if (tracing === undefined || route === undefined) return parent && passedOn(parent)
    return tracing.start(`${method} ${route}`, parent, {
      'http.request.method': method,
      'http.route': route,
      'url.path': pathOf(url),
      'url.scheme': 'http',
    })
  }

  finish(request: FinishedRequest, isLogged = true): void {
    const { id, method, path, status, trace, endpoint, record } = request
    const { log, requests } = this.#options
    requests.add(status)
    if (record) this.#record(record)
    if (trace) {
      const named = endpoint === undefined ? {} : { 'wellhead.endpoint': endpoint }
      trace.set({ 'http.response.status_code': status, ...named })
      trace.end(status >= 500 ? String(status) : undefined)
    }
    if (!isLogged) return
    const ms = Math.round(request.totalMs * 100) / 100
    if (trace === undefined && this.#writeLine !== undefined) {
      // Neither an id nor a method needs escaping.
      const line = `"request_id":"${id}","method":"${method}","path":${JSON.stringify(path)}`
      this.#writeLine(`${line},"status":${status},"ms":${ms}`, 'request')
      return
    }
    const context = trace && { trace_id: trace.context.traceId, span_id: trace.context.spanId }
    log.info({ request_id: id, method, path, status, ms, ...context }, 'request')
  }

  /** Records a tool call, which is a part of its request. */
  add(notes: RequestNotes & { endpoint: Endpoint }, end: RequestEnd): void {
    this.#record(recordOf(notes, end))
  }

  #record(record: RequestRecord): void {
    this.#options.statistics?.add(record)
    this.#options.metrics.called(record)
    const { subject, status, cache, engineMs } = record
    // Whether a refused request is recorded depends on its way.
    if (subject.project === '' || status === rateLimited.status) return
    const isHit = cache === 'hit' || cache === 'stale'
    this.#options.usage.called({ project: subject.project, isHit, engineMs })
  }

  #end(request: FastifyRequest, reply: FastifyReply, status: number): void {
    if (request.isOver) return
    request.isOver = true
    const { id, method, url, trace, recorded } = request
    const totalMs = reply.elapsedTime
    const endpoint = recorded?.endpoint?.definition.name
    const record = this.#recordOf(request, reply, status, totalMs)
    const path = pathOf(url)
    this.finish({ id, method, path, status, totalMs, trace, endpoint, record }, !isSilent(request))
  }

  #recordOf(request: FastifyRequest, reply: FastifyReply, status: number, totalMs: number) {
    const { caller, id: requestId, method, recorded: notes = {} } = request
    if (caller === undefined || notes.done || request.routeOptions.url !== queryRoute) return undefined
    const endpoint = notes.endpoint ?? this.#addressed(request, caller)
    if (endpoint === undefined) return undefined
    const isGone = status === queryCancelled.status
    const bodiless = isGone || status === 304 || method === 'HEAD'
    const bytes = bodiless ? 0 : Number(reply.getHeader('content-length') ?? 0)
    const code = isGone ? queryCancelled.code : request.errorCode
    return recordOf({ ...notes, endpoint }, { caller, method, requestId, status, bytes, code, totalMs })
  }

  /** The endpoint of a request that was refused early. Requests to endpoints that the caller must not see are not recorded. */
  #addressed({ params }: FastifyRequest, caller: Caller): Endpoint | undefined {
    const endpoint = this.#options.endpoints.find((params as { reference?: string }).reference ?? '')
    return endpoint && caller.mayCall(endpoint.definition) ? endpoint : undefined
  }
}

export function subjectOf(
  endpoint: Endpoint,
  caller: Caller,
  method: string,
  format: string,
): RequestSubject {
  const { definition, version } = endpoint
  const { id: tokenId, project = '' } = caller
  return { endpoint: definition.name, endpointId: definition.id, version, tokenId, project, method, format }
}

function recordOf(notes: RequestNotes & { endpoint: Endpoint }, end: RequestEnd): RequestRecord {
  const { caller, method, ...ended } = end
  const subject = subjectOf(notes.endpoint, caller, method, notes.format ?? '')
  return { subject, ...ended, ...costOf(notes) }
}

/** The cost of a shared run counts for the caller that started it. */
function costOf({
  response,
  engineTime,
}: RequestNotes): Pick<RequestRecord, 'rows' | 'engineMs' | 'rowsRead' | 'cache'> {
  const failed = { rows: 0, engineMs: engineTime?.ms ?? 0, rowsRead: undefined, cache: 'none' } as const
  if (response === undefined) return failed
  const { rows, engineMs, rowsRead } = response.result
  const { outcome } = response
  if (outcome.kind === 'uncached') return { ...failed, rows, engineMs, rowsRead }
  if (outcome.kind !== 'computed') return { rows, engineMs: 0, rowsRead: 0, cache: outcome.kind }
  if (outcome.joined) return { rows, engineMs: 0, rowsRead: 0, cache: 'joined' }
  return { rows, engineMs, rowsRead, cache: outcome.why === 'request' ? 'bypass' : 'miss' }
}

function isSilent({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.logLevel === 'silent'
}

export function requestIdOf(chosen: string | string[] | undefined): string {
  return typeof chosen === 'string' && /^[\w.-]{1,64}$/.test(chosen) ? chosen : randomUUID()
}

/** The URL without the query string, which may contain parameter values, and without the secret of a link. */
export function pathOf(url: string): string {
  const end = url.indexOf('?')
  const path = end < 0 ? url : url.slice(0, end)
  return path.startsWith('/shared/') ? path.replace(/^\/shared\/[^/]+/, '/shared/…') : path
}

/** Node gives an array for some headers that are sent twice. */
export function text(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined
}
