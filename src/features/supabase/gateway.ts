import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../../core/access/access.ts'
import { hashToken } from '../../core/access/admin-token.ts'
import type { Caller } from '../../core/access/caller.ts'
import { tokenWith } from '../../core/access/known-tokens.ts'
import { forbidden, internal, missingParameter, unauthorized } from '../../core/base/errors.ts'
import { goneSignal } from '../../core/http/connections.ts'
import { handleError, toKnownError } from '../../core/http/error-response.ts'
import { queryParameters, readParameters, sentTwice } from '../../core/http/request-parameters.ts'
import { LogEndpoints, type LogEndpointsOptions } from './log-endpoints.ts'
import { logSources } from './log-views.ts'
import { type GatewayTokens, prefix } from './rewrite-url.ts'

interface GatewayOptions extends LogEndpointsOptions {
  server: FastifyInstance
  access: Access
  tokens: GatewayTokens
}

/** Serves what a self-hosted Supabase sends to Logflare. */
export function createGateway({ server, access, tokens, ...options }: GatewayOptions) {
  const endpoints = new LogEndpoints(options)
  // Elsewhere these tokens can only send logs, because they may be short and widely known.
  const tokenOf = (secret: string) => tokenWith(hashToken(secret).toString('hex'), ['ingest'])
  if (tokens.public) access.put('logflare-public', tokenOf(tokens.public))
  access.put('logflare-private', tokenOf(tokens.private), true)
  server.register(async (scope) => {
    scope.addHook('onRequest', async (request) => {
      const { caller } = request
      if (caller?.mayQueryGateway) return
      // Tokens that cannot send logs have nothing to do with the gateway.
      if (!caller?.mayAny('ingest') || caller.isAdmin) throw unauthorized()
      throw forbidden('This token can only send logs. Use the private access token.')
    })
    addQueryRoutes(scope, endpoints)
    addDrainRoutes(scope)
  })
  // For the console, so it needs the same token as the routes that check and run SQL there.
  server.post(`${prefix}/api/translate`, { config: { access: 'read' } }, async ({ body }) => {
    const { sql } = (body ?? {}) as { sql?: unknown }
    if (typeof sql !== 'string') throw missingParameter('sql')
    return { sql: endpoints.translate(sql) }
  })
  return endpoints
}

function addQueryRoutes(server: FastifyInstance, endpoints: LogEndpoints): void {
  const respond = async (request: FastifyRequest, reply: FastifyReply) => {
    reply.header('Cache-Control', 'private, no-store').type('application/json; charset=utf-8')
    const body = request.method === 'POST' ? Object.entries((request.body as object | null) ?? {}) : []
    const { parameters, lists } = readParameters([...queryParameters(request), ...body])
    for (const name of lists.keys()) throw sentTwice(name)
    const { name } = request.params as { name: string }
    const { id: caller } = request.caller as Caller
    return endpoints.run({ name, parameters, caller, signal: goneSignal(reply) })
  }
  const errorHandler = (error: Error, request: FastifyRequest, reply: FastifyReply) => {
    if (!request.caller?.mayQueryGateway) return handleError(error, request, reply)
    // A caller that is cut off while it sends its body would not read the response.
    if (!request.raw.complete) reply.removeHeader('Connection').request.raw.resume()
    reply.code(200).type('application/json; charset=utf-8').send(errorBody(error, request))
  }
  const url = `${prefix}/api/endpoints/query/:name`
  server.route({ method: ['GET', 'POST'], url, config: { access: 'any' }, handler: respond, errorHandler })
}

/** Studio shows the message of an error only if the status is 200. */
function errorBody(error: Error, request: FastifyRequest): { error: string } {
  const known = toKnownError(error, request)
  request.errorCode = known.code
  if (internal.is(known))
    request.log.error({ err: known.cause ?? error }, 'a query of the Logflare gateway failed')
  const { message, details } = known
  const { line, column } = details
  return { error: line === undefined ? message : `${message} (line ${line}, column ${column})` }
}

const noDrains =
  'Log drains are not supported here. To copy logs elsewhere, add a sink to the configuration of Vector.'

/** The settings page lists log drains, of which there are none. */
function addDrainRoutes(server: FastifyInstance): void {
  const sources = Object.values(logSources).map((name, index) => ({ id: index + 1, name, token: name }))
  for (const [path, list] of Object.entries({ backends: [], rules: [], sources })) {
    server.get(`${prefix}/api/${path}`, { config: { access: 'any' } }, async () => list)
  }
  // Studio ignores the status, and would show any JSON as a created drain.
  const refuse = async (_request: FastifyRequest, reply: FastifyReply) =>
    reply.code(422).type('text/plain; charset=utf-8').send(`${noDrains}\n`)
  for (const url of ['/api/backends', '/api/backends/:id', '/api/rules', '/api/rules/:id', '/api/sources']) {
    const methods = url.endsWith(':id') ? ['PUT', 'PATCH', 'DELETE'] : ['POST']
    server.route({ method: methods, url: prefix + url, config: { access: 'any' }, handler: refuse })
  }
}
