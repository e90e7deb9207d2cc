import { randomUUID } from 'node:crypto'
import { createServer as createHttpServer, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { Caller } from '../access/caller.ts'
import {
  engineUnavailable,
  headersTooLarge,
  isolationUnverified,
  malformedRequest,
  methodNotAllowed,
  notFound,
  requestTooSlow,
  type WellheadError,
} from '../base/errors.ts'
import { resultVary, tokenVary } from './cache-headers.ts'
import {
  boundConnections,
  endsWithResponse,
  inviteBody,
  maxConnections,
  sendsBeforeClosing,
} from './connections.ts'
import { errorBody, handleError } from './error-response.ts'
import { HotCalls } from './hot-lane/hot-calls.ts'
import { UnreadResponses } from './hot-lane/unread-responses.ts'
import { jsonLimits, limitJsonBodies } from './json-bodies.ts'
import { addMcpRoutes } from './mcp/mcp-route.ts'
import { pathOf, RequestRecorder, requestIdOf } from './request-recorder.ts'
import { admitCaller, type RouteAccess, tokenOf } from './route-access.ts'
import { addAuthRoutes } from './routes/access/auth.ts'
import { addPeopleRoutes } from './routes/access/people.ts'
import { addTokenRoutes } from './routes/access/tokens.ts'
import { addWhoamiRoutes } from './routes/access/whoami.ts'
import { addAlertRoutes } from './routes/alerts.ts'
import { addBackupRoutes } from './routes/backup.ts'
import { addConsoleRoutes } from './routes/console.ts'
import { addDashboardRoutes } from './routes/dashboards.ts'
import { addDeploymentRoutes } from './routes/deployments.ts'
import { addDocsRoutes } from './routes/docs.ts'
import { addDraftRoutes } from './routes/drafts.ts'
import { addEndpointRoutes } from './routes/endpoints.ts'
import { addLogRoutes } from './routes/logs/logs.ts'
import { addOtlpRoutes } from './routes/logs/otlp.ts'
import { addSavedSearchRoutes, addSearchRoutes } from './routes/logs/search.ts'
import { addTailRoutes } from './routes/logs/tail.ts'
import { addQueryRoutes } from './routes/query.ts'
import { addReplayRoutes } from './routes/replays.ts'
import { addRequestRoutes } from './routes/requests.ts'
import { type ListedRoute, listRoutes } from './routes/route.ts'
import { addSourceRoutes } from './routes/sources.ts'
import { addStatusRoutes } from './routes/status.ts'
import { addEndpointCacheRoutes, addUsageRoutes } from './routes/usage.ts'
import { addCrossOrigin, addSecurityHeaders, headersOfUnread, variesByOrigin } from './security-headers.ts'
import type { ServerOptions } from './server-options.ts'

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
  maxParameterLength: 512,
  headersWithinMs: 10_000,
  requestWithinMs: 120_000,
  stalledAfterMs: 300_000,
  maxUnreadBytes: 256 * 2 ** 20,
  keepAliveMs: 65_000,
  checkConnectionsEveryMs: 2_000,
  sentWithinMs: 2_000,
} as const

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** Unknown paths here require a token, so that the response does not reveal which routes exist. */
const guardedPath = /^\/(?:api|v1|metrics)(?:\/|$)/i

export function createServer(options: ServerOptions): FastifyInstance {
  const recorder = new RequestRecorder(options)
  const unread = new UnreadResponses({
    maxBytes: limits.maxUnreadBytes,
    onAborted: (readers, bytes) =>
      options.log.warn({ readers, bytes }, 'dropped a response that the client did not read'),
  })
  const hot = new HotCalls({
    ...options,
    ...{ recorder, unread },
    vary: variesByOrigin(options.corsOrigins) ? `${resultVary}, Origin` : resultVary,
    open: () => options.open() && !options.stopping() && options.leak() === undefined,
  })
  options.endpoints.onChange(() => hot.clear())
  options.dashboards.onChange(() => {
    hot.clear()
    options.streams.check()
  })
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
          maxHeaderSize: options.logflare ? limits.maxLongHeaderBytes : limits.maxHeaderBytes,
          // Overrides --insecure-http-parser.
          insecureHTTPParser: false,
          // Node's own response would not be JSON.
          requireHostHeader: false,
          connectionsCheckingInterval: limits.checkConnectionsEveryMs,
        },
        hot.before(framework),
      ),
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
  addCrossOrigin(server, options.corsOrigins)
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
    request.cookieToken = options.cookies.read(request.headers.cookie)
    // Which tokens are valid is known only after the start; a 401 would sign people out.
    const isEarly = !options.open()
    if (isEarly && tokenOf(request) !== undefined) throw engineUnavailable('The service is starting.')
    request.caller = admitCaller(options, access, request, reply)
    if (isEarly) throw engineUnavailable('The service is starting.')
    const leak = options.leak()
    // Sending entries and describing the API show nothing of what is stored.
    const mayShowEntries = access !== 'ingest' && access !== 'optional'
    if (leak !== undefined && request.caller?.project !== undefined && mayShowEntries)
      throw isolationUnverified(leak)
    inviteBody(reply.raw)
  })
  server.addHook('onSend', async (_request, reply, payload) => {
    if (typeof payload === 'string' || Buffer.isBuffer(payload)) unread.add(payload, reply.raw)
    // An open connection would keep the process alive.
    if (options.stopping()) reply.header('Connection', 'close')
  })
  addRoutes(server, options, hot, recorder)
  return server
}

export async function documentedRoutes(): Promise<readonly ListedRoute[]> {
  const server = fastify()
  listRoutes(server)
  const parts = { console: { assets: new Map() }, embedOrigins: [] }
  addRoutes(server, parts as never, {} as never, {} as never)
  await server.ready()
  return server.routeList
}

const resources = [
  ...[addLogRoutes, addOtlpRoutes, addEndpointRoutes, addEndpointCacheRoutes, addReplayRoutes],
  ...[addDeploymentRoutes, addAlertRoutes, addDashboardRoutes, addSourceRoutes, addTailRoutes],
  ...[addTokenRoutes, addAuthRoutes, addPeopleRoutes, addBackupRoutes, addWhoamiRoutes, addDraftRoutes],
  ...[addUsageRoutes, addRequestRoutes, addSearchRoutes, addSavedSearchRoutes],
  ...[addStatusRoutes, addDocsRoutes, addConsoleRoutes],
]

function addRoutes(
  server: FastifyInstance,
  options: ServerOptions,
  hot: HotCalls,
  recorder: RequestRecorder,
): void {
  addQueryRoutes(server, options, hot)
  addMcpRoutes(server, options, recorder)
  for (const addResource of resources) addResource(server, options)
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
