import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { queryCancelled } from '../base/errors.ts'
import { type LineWriter, type Log, lineWriterOf } from '../base/log.ts'
import { passedOn, readTraceContext, type TraceSpan, type Tracing } from '../base/tracing.ts'
import type { EngineTime } from '../endpoints/call/call.ts'
import type { CallResponse } from '../endpoints/call/endpoint-calls.ts'
import type { Endpoint } from '../endpoints/definition/endpoint.ts'
import type { Endpoints } from '../endpoints/manage/endpoints.ts'
import type { RequestRecord } from './request-record.ts'

declare module 'fastify' {
  interface FastifyRequest {
    isOver: boolean
    /** Whether the response is an event stream, which the client closes at any time. */
    isStream: boolean
    /** Undefined if neither the caller nor the service traces the request. */
    trace: TraceSpan | undefined
    /** Of a request to an endpoint, as far as it is known. Null: the request must not be recorded. */
    record: RequestRecord | null | undefined
    /** Also measured for requests that fail. */
    engineTime: EngineTime | undefined
    errorCode: string
  }
}

/** What the log says of a request. */
type LoggedRequest = Pick<RequestRecord, 'requestId' | 'method' | 'status' | 'totalMs'>

interface RequestRecorderOptions {
  log: Log
  /** Where the service sends traces, if it does. */
  hooks: { readonly tracing: Tracing | undefined }
  endpoints: Endpoints
  /** Called with the status of each finished request. */
  finished: readonly ((status: number) => void)[]
  /** Called with each finished request to an endpoint. */
  recorded: readonly ((record: RequestRecord) => void)[]
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
    server.decorateRequest('record', undefined)
    server.decorateRequest('engineTime', undefined)
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
    const { tracing } = this.#options.hooks
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

  finish(request: LoggedRequest, path: string, trace: TraceSpan | undefined, isLogged = true): void {
    const { requestId, method, status } = request
    const { log, finished } = this.#options
    for (const report of finished) report(status)
    if (trace) {
      trace.set({ 'http.response.status_code': status })
      trace.end(status >= 500 ? String(status) : undefined)
    }
    if (!isLogged) return
    const ms = Math.round(request.totalMs * 100) / 100
    if (trace === undefined && this.#writeLine !== undefined) {
      // Neither an id nor a method needs escaping.
      const line = `"request_id":"${requestId}","method":"${method}","path":${JSON.stringify(path)}`
      this.#writeLine(`${line},"status":${status},"ms":${ms}`, 'request')
      return
    }
    const context = trace && { trace_id: trace.context.traceId, span_id: trace.context.spanId }
    log.info({ request_id: requestId, method, path, status, ms, ...context }, 'request')
  }

  /** Records a request to an endpoint, or a tool call, which is a part of its request. */
  add(record: RequestRecord): void {
    for (const report of this.#options.recorded) report(record)
  }

  #end(request: FastifyRequest, reply: FastifyReply, status: number): void {
    if (request.isOver) return
    request.isOver = true
    const { id: requestId, method, url, trace, engineTime } = request
    const totalMs = reply.elapsedTime
    const record = request.routeOptions.url === queryRoute ? this.#recordOf(request) : undefined
    if (record) {
      const isGone = status === queryCancelled.status
      const bodiless = isGone || status === 304 || method === 'HEAD'
      const bytes = bodiless ? 0 : Number(reply.getHeader('content-length') ?? 0)
      const code = isGone ? queryCancelled.code : request.errorCode
      const engineMs = engineTime?.ms ?? record.engineMs
      this.add({ ...record, status, bytes, code, totalMs, engineMs })
    }
    this.finish({ requestId, method, status, totalMs }, pathOf(url), trace, !isSilent(request))
  }

  /** Of a request that was refused early, too. Requests to endpoints that the caller must not see are not recorded. */
  #recordOf(request: FastifyRequest): RequestRecord | null | undefined {
    const { caller, record, params } = request
    if (record !== undefined || caller === undefined) return record
    const endpoint = this.#options.endpoints.find((params as { reference?: string }).reference ?? '')
    return endpoint && caller.mayCall(endpoint.definition) ? recordOf(request, endpoint) : undefined
  }
}

/** Begins the record of a request to an endpoint. */
export function beginRecord(
  request: FastifyRequest,
  endpoint: Endpoint,
  engineTime: EngineTime,
): RequestRecord {
  request.record = recordOf(request, endpoint)
  request.engineTime = engineTime
  request.trace?.set({ 'wellhead.endpoint': endpoint.definition.name })
  return request.record
}

export function recordOf({ caller, id, method }: FastifyRequest, endpoint: Endpoint): RequestRecord {
  return {
    endpoint: endpoint.definition.name,
    endpointId: endpoint.definition.id,
    version: endpoint.version,
    tokenId: caller?.id ?? '',
    project: caller?.project ?? '',
    method,
    requestId: id,
    format: '',
    status: 0,
    code: '',
    cache: 'none',
    totalMs: 0,
    engineMs: 0,
    rows: 0,
    bytes: 0,
    rowsRead: undefined,
  }
}

/** Adds what a response cost. The cost of a shared run counts for the request that started it. */
export function addResponse(record: RequestRecord, { result, outcome }: CallResponse): void {
  record.rows = result.rows
  const isOwn = outcome.kind === 'uncached' || (outcome.kind === 'computed' && !outcome.joined)
  record.engineMs = isOwn ? result.engineMs : 0
  record.rowsRead = isOwn ? result.rowsRead : 0
  if (outcome.kind === 'uncached') return
  if (outcome.kind !== 'computed') record.cache = outcome.kind
  else if (outcome.joined) record.cache = 'joined'
  else record.cache = outcome.why === 'request' ? 'bypass' : 'miss'
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
