import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { nameComponents } from '../openapi/json-schema.ts'
import { params } from './endpoints.ts'
import type { QueryRoutes } from './query.ts'
import { json, routesOf } from './route.ts'

const maxResults = 200

const seconds = z.int().min(0)
const result = z.object({
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
  state: z
    .enum(['fresh', 'stale', 'expired'])
    .describe('Stale results are served while they are refreshed, expired ones only instead of an error.'),
  warm: z.boolean().describe('Whether it is refreshed in the background.'),
  failure: z.string().nullable().describe('Code of the error if the last refresh failed.'),
})
const cached = z.object({
  cache_seconds: z.int().nullable().describe('How long results are cached. Null: not cached.'),
  warm_seconds: z.int().nullable().describe('How often results are refreshed. Null: never.'),
  total: z.int().describe('Number of all results.'),
  results: z.array(result).describe(`At most ${maxResults}, the most used first.`),
})
nameComponents('output', { CachedResult: result, EndpointCache: cached })

export function addEndpointCacheRoutes(
  server: FastifyInstance,
  { endpoints, calls }: Pick<QueryRoutes, 'endpoints' | 'calls'>,
): void {
  const route = routesOf(server, { tag: 'Endpoints', access: 'admin' })
  const path = '/api/endpoints/:reference/cache'
  route(`GET ${path}`, 'listCachedResults', 'List the cached results of an endpoint', {
    description: 'Results in the memory of this process.',
    params,
    responses: { 200: json('The results.', cached) },
    handler: async ({ params }) => {
      const { id, cache_seconds, warm_seconds } = endpoints.get(params.reference).definition
      const all = calls.cachedOf(id)
      return { cache_seconds, warm_seconds, total: all.length, results: all.slice(0, maxResults) }
    },
  })
  route(`DELETE ${path}`, 'dropCachedResults', 'Drop the cached results of an endpoint', {
    description: 'The next requests compute them again. Other processes keep theirs.',
    params,
    responses: { 204: json('The results are dropped.') },
    handler: async ({ params }) => calls.cache.drop(endpoints.get(params.reference).definition.id),
  })
}
