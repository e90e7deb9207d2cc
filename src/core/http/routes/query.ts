import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Caller } from '../../access/caller.ts'
import { endpointNotFound, forbidden, invalidBody, invalidParameter } from '../../base/errors.ts'
import { closestName } from '../../base/text/closest-name.ts'
import { refuseAudit } from '../../definitions/visibility.ts'
import type { Call } from '../../endpoints/call/call.ts'
import { EngineTime } from '../../endpoints/call/call.ts'
import type { EndpointCalls } from '../../endpoints/call/endpoint-calls.ts'
import type { Endpoints, SavedEndpoint } from '../../endpoints/manage/endpoints.ts'
import { goneSignal } from '../connections.ts'
import type { HotCalls } from '../hot-lane/hot-calls.ts'
import { callErrors, callHeaders, callQuery, followHeaders, plan, resultResponses } from '../openapi/call.ts'
import {
  chooseFormat,
  endpointCall,
  isStrict,
  queryParameters,
  readCacheDirectives,
  readParameters,
  type SentParameters,
  sentTwice,
} from '../request-parameters.ts'
import { addResponse, beginRecord, queryRoute } from '../request-recorder.ts'
import { sendResult } from '../send-result.ts'
import { jsonBody, type Response, routesOf } from './route.ts'

/** A call that something else than the scope `query` allows. */
export interface GrantedCall {
  endpoint: SavedEndpoint
  /** Whether it is allowed still. */
  isAllowed(): boolean
}

/** Finds a call that is granted in another way; undefined if the caller's other scopes decide. Throws what to send instead. */
export type GrantCall = (caller: Caller, reference: string, sent: SentParameters) => GrantedCall | undefined

/** Streams a result and its changes. Throws before the stream begins if the request is wrong. */
export type FollowCall = (
  request: FastifyRequest,
  reply: FastifyReply,
  call: Call,
  isAllowed?: () => boolean,
) => Promise<FastifyReply>

interface QueryParts {
  endpoints: Endpoints
  calls: EndpointCalls
  hot: HotCalls
  hooks: {
    readonly grants: readonly GrantCall[]
    /** Undefined: results cannot be followed. */
    readonly followCall: FollowCall | undefined
  }
}

type QueryRequest = FastifyRequest<{ Params: { reference: string } }>

const params = z.object({
  reference: z.string().meta({ description: 'Id or name of the endpoint.', example: 'logs.all' }),
})
const explain = z
  .string()
  .optional()
  .describe('Returns the query plan of the engine instead of rows. Admins only.')
const postQuery = callQuery.extend({ _explain: explain })
const getQuery = postQuery.extend({
  parameters: z
    .record(z.string(), z.union([z.string(), z.array(z.string())]))
    .optional()
    .meta({
      description: 'Parameters of the endpoint, each under its own name.',
      example: { project: 'demo' },
    }),
})
const scalar = z.union([z.string(), z.number(), z.boolean()])
const body = z.record(z.string(), z.union([scalar, z.null(), z.array(scalar)]))

function responses(streamed: boolean): Record<number, Response> {
  const rows = { type: 'array', items: { type: 'object', additionalProperties: true } }
  return resultResponses(rows, { explained: true, streamed })
}

export function addQueryRoutes(server: FastifyInstance, parts: QueryParts): void {
  server.components.add({ output: { QueryPlan: plan } })
  const { endpoints, calls, hot } = parts
  const { grants, followCall } = parts.hooks
  const respond = async (request: QueryRequest, reply: FastifyReply, sent: [string, unknown][]) => {
    const since = performance.now()
    const engineTime = new EngineTime()
    const caller = request.caller as Caller
    const parameters = readParameters(sent)
    const { control } = parameters
    const { reference } = request.params
    const granted = grants.map((grant) => grant(caller, reference, parameters)).find(Boolean)
    const current = granted?.endpoint ?? callableEndpoint(endpoints, caller, reference)
    const requested = control.get('_version')
    const endpoint =
      requested === undefined ? current : await versionOf(endpoints, caller, current, requested)
    const record = beginRecord(request, endpoint, engineTime)
    const { format, streamed } = chooseFormat(
      control,
      request.headers.accept,
      followCall !== undefined && request.method !== 'POST',
    )
    record.format = streamed ? 'events' : format.name
    if (control.has('_explain') && !caller.isAdmin) {
      throw forbidden('_explain requires a token with the scope admin.')
    }
    reply.header('Wellhead-Version', String(endpoint.version))
    const call = endpointCall(caller, parameters, isStrict(control), {
      endpoint,
      format,
      signal: goneSignal(reply),
      directives: readCacheDirectives(request.headers['cache-control']),
      trace: request.trace,
      engineTime,
    })
    if (control.has('_explain')) {
      request.record = null
      return calls.explain(call)
    }
    if (streamed && followCall) return followCall(request, reply, call, granted?.isAllowed)
    const called = calls.call(call)
    const result = called instanceof Promise ? await called : called
    addResponse(record, result)
    request.engineTime = undefined
    // If the result was not available at once, the endpoint may have changed in the meantime.
    if (result.outcome.kind !== 'uncached' && result === called && request.method === 'GET') {
      hot.learn(request.url, request.headers.accept ?? '', { caller, key: call.key, record })
    }
    return sendResult(request, reply, result, since)
  }
  const route = routesOf(server, { tag: 'Calling endpoints', access: 'call' })
  route(`GET ${queryRoute}`, 'callEndpoint', 'Call an endpoint', {
    description:
      'Takes the parameters of the endpoint besides these. With `Accept: text/event-stream` the connection stays open, ' +
      'and each change of the result is sent as an event `result`.',
    params,
    query: getQuery,
    headers: followHeaders,
    responses: responses(true),
    errors: callErrors,
    unchecked: true,
    handler: (request, reply) => respond(request, reply, queryParameters(request)),
  })
  route(`POST ${queryRoute}`, 'callEndpointWithBody', 'Call an endpoint with parameters in the body', {
    description: 'Parameters can be in the query string or in the body, but each in only one of them.',
    params,
    query: postQuery,
    headers: callHeaders,
    body: jsonBody(body, { project: 'demo', _format: 'json' }, false),
    responses: responses(false),
    errors: callErrors,
    unchecked: true,
    handler: async (request, reply) => {
      const body = request.body ?? {}
      if (typeof body !== 'object' || Array.isArray(body)) {
        throw invalidBody('The body must be a JSON object.')
      }
      const sent = queryParameters(request)
      const [both] = sent.find(([name]) => Object.hasOwn(body, name)) ?? []
      if (both !== undefined) throw sentTwice(both)
      return respond(request, reply, [...sent, ...Object.entries(body)])
    },
  })
}

export function callableEndpoint(endpoints: Endpoints, caller: Caller, reference: string) {
  const endpoint = endpoints.find(reference)
  if (endpoint && caller.mayCall(endpoint.definition)) return endpoint
  // The same error whether or not it exists. A token for some endpoints must not learn which others exist either.
  if (!caller.mayQuery('')) throw forbidden('This token is not allowed to call this endpoint.')
  const allowed = endpoints.list().filter(({ definition }) => caller.mayCall(definition))
  const names = allowed.map(({ definition }) => definition.name)
  throw endpointNotFound(reference, closestName(reference, names))
}

async function versionOf(endpoints: Endpoints, caller: Caller, endpoint: SavedEndpoint, requested: string) {
  const isNumber = /^[1-9]\d{0,8}$/.test(requested)
  const version = isNumber ? await endpoints.version(endpoint, Number(requested)) : undefined
  // An older version may read what the current one does not.
  if (version) refuseAudit(caller, version.definition)
  if (version) return version
  throw invalidParameter(
    '_version',
    `_version must be an existing version of the endpoint. The newest is ${endpoint.version}.`,
  )
}
