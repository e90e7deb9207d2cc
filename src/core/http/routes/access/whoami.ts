import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { type Caller, roles } from '../../../access/caller.ts'
import type { TokenAdmin } from '../../../access/token-admin.ts'
import { definitionShape } from '../../../endpoints/definition/definition.ts'
import type { Endpoint } from '../../../endpoints/definition/endpoint.ts'
import {
  allDeclarations,
  parameterView,
  shownParameters,
} from '../../../endpoints/definition/parameter-declaration.ts'
import { columnsView } from '../../../endpoints/definition/result-columns.ts'
import type { Endpoints } from '../../../endpoints/manage/endpoints.ts'
import { goneSignal } from '../../connections.ts'
import { json, routesOf } from '../route.ts'

const callable = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  parameters: z.record(z.string(), parameterView),
  columns: columnsView,
  max_rows: z.int(),
  cache_seconds: z.int().nullable(),
  sandbox: z.boolean(),
  chart: definitionShape.shape.chart,
  version: z.int(),
})
const permissions = z.object({
  type: z.enum(['person', 'token']),
  id: z.string(),
  name: z.string().describe('Name of the person or token, as in the audit. Empty for sessions.'),
  email: z.string().nullable().describe('Of the person. Null for tokens.'),
  role: z
    .enum(roles)
    .nullable()
    .describe('Null: a token that only calls endpoints, reads entries or sends them.'),
  description: z.string().describe('Empty for the admin token and for sessions.'),
  session: z.boolean().describe('Whether this is a session of the token.'),
  admin: z.boolean(),
  query: z.boolean(),
  ingest: z.boolean(),
  project: z.string().nullable(),
  parameters: z.record(z.string(), z.string()),
  requests_per_minute: z.int().nullable().describe('Null: no limit.'),
  endpoints: z.array(callable),
  logs: z.boolean().describe('Whether the token can read whole entries: search, count and follow them.'),
})

/** What a feature says about a caller. */
export interface CallerDetails {
  shape: z.ZodRawShape
  of(caller: Caller, signal: AbortSignal): Record<string, unknown> | Promise<Record<string, unknown>>
}

interface WhoamiParts {
  endpoints: Endpoints
  tokens: TokenAdmin
  callerDetails: readonly CallerDetails[]
}

export function addWhoamiRoutes(server: FastifyInstance, parts: WhoamiParts): void {
  const { endpoints, tokens, callerDetails } = parts
  const shape = permissions.extend(Object.assign({}, ...callerDetails.map((details) => details.shape)))
  const route = routesOf(server, { tag: 'Exploring', access: 'any' })
  route('GET /api/whoami', 'getWhoami', 'Show what this token is allowed to do', {
    responses: { 200: json('Permissions of the token, and the endpoints that it can call.', shape) },
    handler: async (request, reply) => {
      const caller = request.caller as Caller
      const person = tokens.holderOf(caller.id)
      const { description, requests_per_minute: requestsPerMinute } = tokens.summary(caller.id)
      // Customers hold sessions; the description is for those who hold the token.
      const [name, shown] = caller.isSession ? ['', ''] : [tokens.nameOf(caller.id) ?? '', description]
      const allowed = endpoints.list().filter(({ definition }) => caller.mayCall(definition))
      const signal = goneSignal(reply)
      const details = await Promise.all(callerDetails.map((each) => each.of(caller, signal)))
      return {
        type: person ? 'person' : 'token',
        id: caller.id,
        name: person?.name ?? name,
        email: person?.email ?? null,
        role: caller.role ?? null,
        description: shown,
        requests_per_minute: requestsPerMinute,
        session: caller.isSession,
        admin: caller.isAdmin,
        query: caller.mayAny('query'),
        ingest: caller.mayAny('ingest'),
        project: caller.project ?? null,
        parameters: caller.parameters,
        endpoints: allowed.map((endpoint) => callerView(endpoint, caller)),
        logs: caller.mayReadEntries,
        ...Object.assign({}, ...details),
      }
    },
  })
}

/** An endpoint as its callers see it: without its SQL, and without parameters that the token fixes. */
function callerView({ definition, compiled, version, columns }: Endpoint, caller: Caller) {
  const parameters = Object.entries(allDeclarations(definition.parameters, compiled.names)).filter(
    ([parameter]) => !Object.hasOwn(caller.parameters, parameter),
  )
  const shown = { version, columns, parameters: shownParameters(Object.fromEntries(parameters)) }
  return picked(callable, { ...definition, ...shown })
}

export function picked(shape: z.ZodObject, from: object): object {
  return Object.fromEntries(Object.entries(from).filter(([field]) => Object.hasOwn(shape.shape, field)))
}
