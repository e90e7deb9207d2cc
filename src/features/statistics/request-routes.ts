import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Caller } from '../../core/access/caller.ts'
import type { TokenAdmin } from '../../core/access/token-admin.ts'
import { notRecorded } from '../../core/base/errors.ts'
import type { Definitions } from '../../core/definitions/definitions.ts'
import { mayRead } from '../../core/definitions/visibility.ts'
import { isReserved } from '../../core/endpoints/definition/definition.ts'
import type { Endpoints } from '../../core/endpoints/manage/endpoints.ts'
import { goneSignal } from '../../core/http/connections.ts'
import { readCacheDirectives } from '../../core/http/request-parameters.ts'
import { params } from '../../core/http/routes/endpoints.ts'
import { changedBy } from '../../core/http/routes/management.ts'
import { callableEndpoint } from '../../core/http/routes/query.ts'
import { json, routesOf } from '../../core/http/routes/route.ts'
import { intervals } from './report/report-queries.ts'
import { type RequestReports, reportShape, slowRequestShape } from './report/request-report.ts'

const reference = z.string().max(200, { error: 'must have at most 200 characters' }).optional()
const query = z.object({
  interval: z
    .enum(intervals, { error: `must be one of ${intervals.join(', ')}` })
    .default('1hr')
    .describe('How far back. The buckets are 10 seconds, 1 minute, 15 minutes, 2 hours and 6 hours long.'),
  endpoint: reference.meta({ description: 'Name or id of the only endpoint to count.', example: 'logs.all' }),
  token: reference.describe('Id of the only token to count.'),
})

const report = reportShape.extend({
  callers: z
    .array(
      reportShape.shape.callers.element.extend({
        description: z.string().nullable().describe('Of the token, for admins. Null if unknown.'),
      }),
    )
    .describe('At most 200 tokens, those with most requests first.'),
})
/** Names in the OpenAPI document. */
const components = {
  output: { RequestReport: report, SlowRequest: slowRequestShape },
}

export function addRequestRoutes(
  server: FastifyInstance,
  {
    reports,
    definitions,
    endpoints,
    tokens,
  }: {
    reports: RequestReports | undefined
    definitions: Definitions
    endpoints: Endpoints
    tokens: TokenAdmin
  },
): void {
  server.components.add(components)
  const shownTo = (request: FastifyRequest) => (row: { endpoint: string }) => {
    const endpoint = endpoints.named(row.endpoint)
    return !endpoint || mayRead(request.caller, endpoint.definition)
  }
  const recorded = () => {
    if (reports) return reports
    throw notRecorded()
  }
  const readerOf = (request: FastifyRequest, reply: FastifyReply) => ({
    caller: changedBy(request),
    project: request.caller?.project,
    retentionDays: request.caller?.retentionDays,
    signal: goneSignal(reply),
    directives: readCacheDirectives(request.headers['cache-control']),
  })
  const route = routesOf(server, { tag: 'Exploring', access: 'query' })
  route('GET /api/requests', 'getRequests', 'Show statistics of requests', {
    description:
      'Requests to endpoints over time, and by endpoint, token and error code. A token with a project sees the requests of ' +
      'this project, and a token for some endpoints those of its endpoints. Requests to endpoints whose name starts with ' +
      '`wellhead.` are counted only if `endpoint` is one of them. The figures are cached for 5 to 60 seconds.',
    query,
    responses: { 200: json('The statistics.', report) },
    errors: [400, 404, 503, 504],
    handler: async (request, reply) => {
      const caller = request.caller as Caller
      const { interval, endpoint, token } = request.query
      const names = namesToCount(endpoints, caller, endpoint)
      const read = await recorded().report({ interval, endpoints: names, token, ...readerOf(request, reply) })
      const listed = caller.isAdmin ? tokens.list() : []
      const descriptions = new Map(listed.map(({ id, description }) => [id, description]))
      const described = read.callers.map((one) => ({
        ...one,
        description: descriptions.get(one.token_id) ?? null,
      }))
      const isShown = shownTo(request)
      const [shown, codes] = [read.endpoints.filter(isShown), read.codes.filter(isShown)]
      return { ...read, endpoints: shown, codes, callers: described }
    },
  })
  const slow = {
    access: 'read',
    description:
      'Of the last hour: the 20 slowest that reached the engine, the last 20 that failed, and the last 20 that were refused.',
    responses: { 200: json('Requests, slowest first.', z.array(slowRequestShape)) },
    errors: [404, 503, 504],
  } as const
  route('GET /api/slow', 'listSlowRequests', 'List slow and failed requests of all endpoints', {
    ...slow,
    handler: async (request, reply) =>
      (await recorded().slow(undefined, readerOf(request, reply))).filter(shownTo(request)),
  })
  route(
    'GET /api/endpoints/:reference/slow',
    'listSlowCalls',
    'List slow and failed requests of an endpoint',
    {
      ...slow,
      params,
      handler: async (request, reply) => {
        const { params, caller } = request
        const { name } = definitions.find('endpoints', params.reference, caller)
        return recorded().slow(name, readerOf(request, reply))
      },
    },
  )
}

/** Undefined: all except those of the service. */
function namesToCount(endpoints: Endpoints, caller: Caller, reference: string | undefined) {
  if (reference !== undefined) return [callableEndpoint(endpoints, caller, reference).definition.name]
  // Without a name, only tokens for all endpoints are allowed.
  if (caller.mayQuery('')) return undefined
  const own = endpoints.list().filter(({ definition }) => caller.mayCall(definition))
  return own.flatMap(({ definition: { name } }) => (isReserved(name) ? [] : name))
}
