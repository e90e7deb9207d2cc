import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Definitions } from '../../definitions/definitions.ts'
import type { EndpointCalls } from '../../endpoints/call/endpoint-calls.ts'
import { parameterShape, parameterView } from '../../endpoints/definition/parameter-declaration.ts'
import { endpoints as endpointKind } from '../../endpoints/manage/endpoint-kind.ts'
import type { Endpoints, SavedEndpoint } from '../../endpoints/manage/endpoints.ts'
import { jsonPathShape } from '../../sql/paths.ts'
import { warningShape } from '../../sql/warnings/warning.ts'
import { referenceParams } from './kind-routes.ts'
import { json, routesOf } from './route.ts'

const maxResults = 200

const seconds = z.int().min(0)
const cachedResult = z.object({
  key: z.string().describe('First characters of the key of the result.'),
  parameters: z.record(z.string(), z.string()).describe('Parameters as they were sent.'),
  project: z.string().nullable().describe("Project of the tenant's token. Null: requests of other tokens."),
  format: z.string().describe('Format of the result.'),
  version: z.int().describe('Version of the endpoint.'),
  age_seconds: seconds.describe('Since its query started.'),
  expires_in_seconds: seconds.describe('Until it is no longer fresh.'),
  refresh_in_seconds: seconds.nullable().describe('Until its next refresh. Null if it is not kept warm.'),
  bytes: z.int().describe('Bytes in memory.'),
  rows: z.int().describe('Rows. 0 if unknown.'),
  uses: z.int().describe('Number of requests that it served. Each refresh halves it.'),
  last_used_seconds: seconds.describe('Since the last request.'),
  state: z.enum(['fresh', 'stale', 'expired']).describe('Expired results are only served instead of errors.'),
  warm: z.boolean().describe('Whether it is refreshed in the background.'),
  failure: z.string().nullable().describe('Code of the error if the last refresh failed.'),
})
const cached = z.object({
  cache_seconds: z.int().nullable().describe('How long results are cached. Null: not cached.'),
  warm_seconds: z.int().nullable().describe('How often results are refreshed. Null: never.'),
  total: z.int().describe('Number of all results.'),
  results: z.array(cachedResult).describe(`At most ${maxResults}, the most used first.`),
})

/** Names in the OpenAPI document. */
const components = {
  input: { ParameterFields: parameterShape },
  output: {
    Parameter: parameterView,
    Warning: warningShape,
    JsonPath: jsonPathShape,
    CachedResult: cachedResult,
    EndpointCache: cached,
  },
}

export const params = referenceParams(endpointKind)

/** What endpoints have beyond all kinds: paths and cached results. */
export function addEndpointRoutes(
  server: FastifyInstance,
  { definitions, endpoints, calls }: { definitions: Definitions; endpoints: Endpoints; calls: EndpointCalls },
): void {
  server.components.add(components)
  const route = routesOf(server, { tag: 'Endpoints', access: 'read' })
  route(
    'GET /api/endpoints/:reference/paths',
    'listJsonPaths',
    'List paths that an endpoint reads from JSON text',
    {
      description: 'Paths of `metadata` that a typed column (`columns` of the source) makes faster to read.',
      params,
      responses: { 200: json('All paths, in the order of the SQL.', z.array(jsonPathShape)) },
      handler: async ({ params, caller }) =>
        endpoints.paths(definitions.find('endpoints', params.reference, caller)),
    },
  )
  route(
    'GET /api/endpoints/:reference/cache',
    'listCachedResults',
    'List the cached results of an endpoint',
    {
      description: 'Results in the memory of this process.',
      params,
      responses: { 200: json('The results.', cached) },
      handler: async ({ params, caller }) => {
        const found = definitions.find<SavedEndpoint>('endpoints', params.reference, caller)
        const { id, cache_seconds, warm_seconds } = found.definition
        const all = calls.cachedOf(id)
        return { cache_seconds, warm_seconds, total: all.length, results: all.slice(0, maxResults) }
      },
    },
  )
  route(
    'DELETE /api/endpoints/:reference/cache',
    'dropCachedResults',
    'Drop the cached results of an endpoint',
    {
      access: 'edit',
      description: 'The next requests compute them again. Other processes keep theirs.',
      params,
      responses: { 204: json('The results are dropped.') },
      handler: async ({ params, caller }) =>
        calls.cache.drop(definitions.find('endpoints', params.reference, caller).id),
    },
  )
}
