import type { FastifyInstance, FastifyReply } from 'fastify'
import { z } from 'zod'
import { type Dashboards, maySee } from '../../../../features/dashboards/dashboard-kind.ts'
import { readerOf } from '../../../../features/logs/entry-access.ts'
import { type FilledSources, filledSources } from '../../../../features/logs/filled-sources.ts'
import type { LogSearch } from '../../../../features/logs/log-search.ts'
import type { People } from '../../../../features/people/people.ts'
import { planShape } from '../../../../features/plans/plan.ts'
import type { ProjectPlans } from '../../../../features/plans/project-plans.ts'
import type { SourceInfo } from '../../../../features/sources/source-info.ts'
import { type Caller, roles } from '../../../access/caller.ts'
import type { TokenAdmin } from '../../../access/token-admin.ts'
import { newSourceShape } from '../../../catalog/source.ts'
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
const searched = newSourceShape.pick({ name: true, description: true, columns: true })
const planView = z.object(planShape.shape)
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
  plan: planView.nullable().describe('The plan of the project. Null: the token has no project.'),
  parameters: z.record(z.string(), z.string()),
  requests_per_minute: z.int().nullable().describe('Null: no limit.'),
  ingest_sources: z.array(z.string()).describe('Sources that the token can send entries to.'),
  endpoints: z.array(callable),
  dashboards: z.boolean().describe('Whether there are dashboards that the token can see.'),
  logs: z.boolean().describe('Whether the token can read whole entries: search, count and follow them.'),
  sources: z
    .array(searched)
    .describe(
      'The sources that the token can search. Without a role, only those with entries that it sees, newest entry first.',
    ),
  empty_sources: z
    .array(z.string())
    .describe('Without a role: names of the other sources that the token can search.'),
  bigquery: z.boolean().describe('Whether the service translates BigQuery SQL for this token.'),
})

interface WhoamiParts {
  endpoints: Endpoints
  dashboards: Dashboards
  tokens: TokenAdmin
  people: People
  sources: SourceInfo
  search: LogSearch
  projects: { plans: Pick<ProjectPlans, 'of'> }
  /** Whether the console can translate BigQuery SQL. */
  translatesBigQuery: boolean
}

export function addWhoamiRoutes(server: FastifyInstance, parts: WhoamiParts): void {
  const { endpoints, dashboards, tokens, people, sources, search, projects, translatesBigQuery } = parts
  const readableSources = async (caller: Caller, reply: FastifyReply): Promise<FilledSources> => {
    const readable = caller.mayReadEntries ? sources.list(caller) : []
    if (readable.length === 0 || caller.role !== undefined) return { filled: readable, empty: [] }
    return filledSources(search, readable, readerOf(caller, goneSignal(reply)))
  }
  // Whoever has a link to a dashboard is nobody in particular.
  const planOf = (caller: Caller) => {
    const isTenant = caller.mayAny('query') || caller.mayAny('search') || caller.mayAny('ingest')
    return caller.project === undefined || !isTenant ? null : projects.plans.of(caller.project)
  }
  const route = routesOf(server, { tag: 'Exploring', access: 'any' })
  route('GET /api/whoami', 'getWhoami', 'Show what this token is allowed to do', {
    responses: { 200: json('Permissions of the token, and the endpoints that it can call.', permissions) },
    handler: async (request, reply) => {
      const caller = request.caller as Caller
      const person = people.find(caller.id)
      const { description, requests_per_minute: requestsPerMinute } = tokens.summary(caller.id)
      // Customers hold sessions; the description is for those who hold the token.
      const [name, shown] = caller.isSession ? ['', ''] : [tokens.nameOf(caller.id) ?? '', description]
      const { filled, empty } = await readableSources(caller, reply)
      const allowed = endpoints.list().filter(({ definition }) => caller.mayCall(definition))
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
        plan: planOf(caller),
        parameters: caller.parameters,
        ingest_sources: sources.sentTo().filter((name) => caller.mayIngest(name)),
        endpoints: allowed.map((endpoint) => callerView(endpoint, caller)),
        dashboards:
          caller.role !== undefined ||
          dashboards.list().some((dashboard) => maySee(caller, dashboard, endpoints)),
        logs: caller.mayReadEntries,
        sources: filled.map((source) => picked(searched, source)),
        empty_sources: empty.map((source) => source.name),
        bigquery: translatesBigQuery && caller.role !== undefined,
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

function picked(shape: z.ZodObject, from: object): object {
  return Object.fromEntries(Object.entries(from).filter(([field]) => Object.hasOwn(shape.shape, field)))
}
