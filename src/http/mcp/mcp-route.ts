import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Access } from '../../access/access.ts'
import type { Caller } from '../../access/caller.ts'
import { forbidden, invalidBody, rateLimited } from '../../base/errors.ts'
import { onFirstUse } from '../../base/on-first-use.ts'
import { type CallerTools, serveMcp } from '../../mcp/mcp-server.ts'
import type { ToolResult } from '../../mcp/tool.ts'
import type { CallRecorder } from '../call-recording.ts'
import { errorBody, handleError, logServerError, toKnownError } from '../error-response.ts'
import { tokenOf } from '../route-access.ts'
import { goneSignal } from '../routes/management.ts'
import { json, jsonBody, routesOf } from '../routes/route.ts'
import { EndpointToolCalls, type EndpointToolParts } from './endpoint-tool-calls.ts'

export interface McpRoutes {
  access: Access
  queries: EndpointToolParts
  /** Origins whose pages can send requests; `*` allows all. */
  corsOrigins?: readonly string[] | undefined
}

const message = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int()]).optional(),
  method: z.string().optional(),
})
const example = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

/** JSON-RPC's code for a body that is not JSON. */
const parseError = -32700

/** The Model Context Protocol over HTTP: each endpoint is a tool. */
export function addMcpRoutes(server: FastifyInstance, parts: McpRoutes, recorder?: CallRecorder): void {
  const endpointTools = onFirstUse(() => new EndpointToolCalls(parts.queries, recorder))
  const route = routesOf(server, { tag: 'Calling endpoints', access: 'query' })
  route('POST /mcp', 'callTools', 'Call endpoints as tools of the Model Context Protocol', {
    description:
      'Streamable HTTP without sessions: every response is JSON, and the tools are those that this token can call. ' +
      'Errors of a tool are results with `isError`.',
    headers: z.object({
      'MCP-Protocol-Version': z.string().optional().describe('The version that `initialize` returned.'),
    }),
    body: jsonBody(message, example),
    responses: {
      200: json('One JSON-RPC response, or several.', message),
      202: json('The request had only notifications.'),
    },
    options: { errorHandler: handleMcpError },
    handler: async (request, reply) => {
      checkOrigin(request, parts.corsOrigins ?? [])
      const { body, headers } = request
      const version = headers['mcp-protocol-version']
      const tools = toolsOf(request, reply, parts.access, endpointTools())
      const protocolVersion = typeof version === 'string' ? version : undefined
      const response = await serveMcp({ body, protocolVersion, tools })
      reply.code(response.status).header('Cache-Control', 'no-store')
      return response.body === undefined
        ? reply.send()
        : reply.type('application/json; charset=utf-8').send(response.body)
    },
  })
}

/** The tools of the caller, each with the checks and records of a request of its own. */
function toolsOf(
  request: FastifyRequest,
  reply: FastifyReply,
  access: Access,
  endpointTools: EndpointToolCalls,
): CallerTools {
  const caller = request.caller as Caller
  const signal = goneSignal(request, reply)
  let calls = 0
  return {
    names: () => [...endpointTools.of(caller).keys()],
    definition: (name) => endpointTools.definition(name, caller),
    call: async (name, input) => {
      const since = performance.now()
      try {
        // The first call of a request is counted with the request.
        if (++calls > 1) countCall(access, request)
        return await endpointTools.call(name, input, { request, caller, signal })
      } catch (error) {
        return errorResult(error as Error, request)
      } finally {
        const ms = Math.round((performance.now() - since) * 100) / 100
        request.log.info({ tool: name, ms }, 'tool call')
      }
    },
  }
}

/** Requests of a batch count one by one. */
function countCall(access: Access, request: FastifyRequest): void {
  const { quota } = access.admit(tokenOf(request), request.ip)
  if (quota?.exceeded) {
    throw rateLimited(`This token is limited to ${quota.limit} requests per minute.`, quota.resetSeconds)
  }
}

/** The error as other routes send it, for the model to read. */
function errorResult(error: Error, request: FastifyRequest): ToolResult {
  const known = toKnownError(error, request)
  logServerError(known, error, request)
  const text = JSON.stringify(errorBody(known, request.id))
  return { isError: true, content: [{ type: 'text', text }] }
}

/** A name that only its owner can resolve: any other name may be one that an attacker points here (DNS rebinding). */
const ownName = /^(?:localhost|\[[\da-f:.]+\]|\d+\.\d+\.\d+\.\d+)$/

/** Pages of other sites are refused, as the protocol demands. */
function checkOrigin({ headers, host }: FastifyRequest, allowed: readonly string[]): void {
  const { origin } = headers
  if (origin === undefined || allowed.includes('*') || allowed.includes(origin)) return
  const from = URL.canParse(origin) ? new URL(origin) : undefined
  if (from && from.host === host && ownName.test(from.hostname)) return
  throw forbidden('Requests from this origin are not allowed. Add it to WELLHEAD_CORS_ORIGINS.')
}

/** A body that is not JSON gets an error of JSON-RPC. */
function handleMcpError(error: Error, request: FastifyRequest, reply: FastifyReply): void {
  const known = toKnownError(error, request)
  if (!invalidBody.is(known)) return void handleError(error, request, reply)
  const { status, message } = known
  reply.code(status).send({ jsonrpc: '2.0', id: null, error: { code: parseError, message } })
}
