import { randomUUID } from 'node:crypto'
import { createServer as createHttpServer, type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { Access } from '../access/access.ts'
import type { Caller } from '../access/caller.ts'
import {
  engineUnavailable,
  headersTooLarge,
  malformedRequest,
  methodNotAllowed,
  notFound,
  requestTooSlow,
  type WellheadError,
} from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import {
  boundConnections,
  endsWithResponse,
  inviteBody,
  maxConnections,
  sendsBeforeClosing,
} from './connections.ts'
import { errorBody, handleError } from './error-response.ts'
import type { HotCalls } from './hot-lane/hot-calls.ts'
import type { UnreadResponses } from './hot-lane/unread-responses.ts'
import { jsonLimits, limitJsonBodies } from './json-bodies.ts'
import type { Phase } from './phase.ts'
import { pathOf, type RequestRecorder, requestIdOf } from './request-recorder.ts'
import { admitCaller, type RouteAccess, tokenOf } from './route-access.ts'
import { listRoutes } from './routes/route.ts'
import { addCrossOrigin, addSecurityHeaders, headersOfUnread } from './security-headers.ts'
import { tokenVary } from './send-result.ts'
import type { SessionCookies } from './session-cookies.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined if the request has no token, which only some routes allow. */
    caller: Caller | undefined
  }
}

/** Limits of a request, and timeouts against clients that are slow on purpose. */
const limits = {
  maxHeaderBytes: 16 * 1024,
  maxLongHeaderBytes: 256 * 1024,
  /** Percent-encoded names of projects are longer than the names. */
  maxParameterLength: 4096,
  headersWithinMs: 10_000,
  requestWithinMs: 120_000,
  stalledAfterMs: 300_000,
  keepAliveMs: 65_000,
  checkConnectionsEveryMs: 2_000,
  sentWithinMs: 2_000,
} as const

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** Unknown paths here require a token, so that the response does not reveal which routes exist. */
const guardedPath = /^\/(?:api|v1|metrics)(?:\/|$)/i

interface ServerOptions {
  log: Log
  access: Access
  cookies: SessionCookies
  recorder: RequestRecorder
  unread: UnreadResponses
  hot: HotCalls
  phase: () => Phase
  /** Throws while the engine shows tenants the rows of others. */
  requireIsolation: () => void
  /** Origins whose pages can send requests; `*` allows all. */
  corsOrigins: readonly string[]
  maxStreams: number
  /** Leads requests to the Logflare gateway. With it, URLs can contain SQL. */
  rewriteUrl: ((request: IncomingMessage) => string) | undefined
}

/** What all routes have in common. They are added afterward. */
export function createServer(options: ServerOptions): FastifyInstance {
  const { recorder, unread, hot, phase } = options
  const server = fastify({
    loggerInstance: options.log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    genReqId: ({ headers }) => requestIdOf(headers['x-request-id']),
    requestIdHeader: false,
    bodyLimit: jsonLimits.maxBytes,
    routerOptions: { maxParamLength: limits.maxParameterLength },
    serverFactory: (framework) =>
      createHttpServer(
        {
          requestTimeout: limits.requestWithinMs,
          keepAliveTimeout: limits.keepAliveMs,
          maxHeaderSize: options.rewriteUrl ? limits.maxLongHeaderBytes : limits.maxHeaderBytes,
          // Overrides --insecure-http-parser.
          insecureHTTPParser: false,
          // Node's own response would not be JSON.
          requireHostHeader: false,
          connectionsCheckingInterval: limits.checkConnectionsEveryMs,
        },
        hot.before(framework),
      ),
    ...(options.rewriteUrl && { rewriteUrl: options.rewriteUrl }),
    clientErrorHandler: refuseBrokenRequest,
    frameworkErrors: (error, request, reply) =>
      handleError(error, request, reply.headers({ ...headersOfUnread, 'X-Request-Id': request.id })),
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: true,
  })
  boundConnections(server.server, { ...limits, maxConnections: maxConnections(options.maxStreams) })
  server.addHook('preClose', sendsBeforeClosing(server.server, limits.sentWithinMs))
  limitJsonBodies(server)
  server.setErrorHandler(handleError)
  server.setNotFoundHandler((request) => {
    const path = pathOf(request.url)
    const allowed = methods.filter((method) => server.findRoute({ method, url: path }) !== null)
    throw allowed.length > 0 ? methodNotAllowed(request.method, allowed) : notFound(request.method, path)
  })
  listRoutes(server)
  recorder.addTo(server)
  addSecurityHeaders(server)
  const headers = () =>
    server.routeList.flatMap(({ operation }) => Object.keys(operation?.headers?.shape ?? {}))
  addCrossOrigin(server, { origins: options.corsOrigins, methods, headers })
  server.decorateRequest('caller', undefined)
  server.decorateRequest('cookieToken', undefined)
  server.addHook('onRequest', async (request, reply) => {
    reply.header('X-Request-Id', request.id)
    const hosts = hostsIn(request.raw.rawHeaders)
    // Proxies differ in which of several they use.
    if (hosts > 1 || (hosts === 0 && request.raw.httpVersion === '1.1'))
      throw malformedRequest('Requests must have exactly one Host header.')
    const access = accessOf(request)
    if (access === 'public') return
    reply.header('Vary', tokenVary)
    const { cookie } = request.headers
    if (cookie !== undefined) request.cookieToken = options.cookies.read(cookie)
    // Which tokens are valid is known only after the start; a 401 would sign people out.
    const isEarly = phase() === 'starting'
    if (isEarly && tokenOf(request) !== undefined) throw engineUnavailable('The service is starting.')
    request.caller = admitCaller(options, access, request, reply)
    if (isEarly) throw engineUnavailable('The service is starting.')
    // Sending entries and describing the API show nothing of what is stored.
    const mayShowEntries = access !== 'ingest' && access !== 'optional'
    if (request.caller?.project !== undefined && mayShowEntries) options.requireIsolation()
    inviteBody(reply.raw)
  })
  server.addHook('onSend', async (_request, reply, payload) => {
    if (typeof payload === 'string' || Buffer.isBuffer(payload)) unread.add(payload, reply.raw)
    // An open connection would keep the process alive.
    if (phase() === 'stopping') reply.header('Connection', 'close')
  })
  return server
}

/** Decided by the matched route, not by the text of the URL, which can be written in many ways. */
function accessOf(request: FastifyRequest): RouteAccess {
  const { url, config } = request.routeOptions
  if (url !== undefined) return config.access ?? 'admin'
  return guardedPath.test(decodedPath(request)) ? 'any' : 'public'
}

/** Node's own headers object drops all but the first. */
function hostsIn(rawHeaders: readonly string[]): number {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.toLowerCase() === 'host') hosts++
  return hosts
}

function decodedPath(request: FastifyRequest): string {
  const path = URL.canParse(request.url) ? new URL(request.url).pathname : pathOf(request.url)
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** Requests that Node's parser refuses never reach a route, but get the same error response. */
function refuseBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  if (endsWithResponse(socket)) return
  const refusal = brokenRequest(error)
  const body = JSON.stringify(errorBody(refusal, randomUUID()))
  const headers = Object.entries(headersOfUnread).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\n` +
      `Content-Type: application/json; charset=utf-8\r\n` +
      headers.join('') +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}

function brokenRequest({ code }: NodeJS.ErrnoException): WellheadError {
  if (code === 'HPE_HEADER_OVERFLOW') return headersTooLarge()
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTooSlow()
  return malformedRequest('The request is not valid HTTP.')
}
