import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { FieldShapes } from '../../base/validation.ts'
import type { Definitions } from '../../definitions/definitions.ts'
import type { EndpointCalls } from '../../endpoints/call/endpoint-calls.ts'
import type { Endpoints, SavedEndpoint } from '../../endpoints/manage/endpoints.ts'
import {
  type SourceUsage,
  type Usage,
  type UsageInterval,
  usageIntervals,
} from '../../sources/source-usage.ts'
import { nameComponents } from '../openapi/json-schema.ts'
import { params } from './endpoints.ts'
import { json, routesOf } from './route.ts'

const intervals = Object.keys(usageIntervals) as [UsageInterval, ...UsageInterval[]]
const query = z.object({
  interval: z
    .enum(intervals, { error: `must be one of ${intervals.join(', ')}` })
    .default('1hr')
    .describe('How far back `entries` goes. The buckets are 1 minute, 15 minutes and 2 hours long.'),
})
const usageShape = z.object<FieldShapes<Usage>>({
  disk: z.object({ free_bytes: z.int(), reserve_bytes: z.int() }).nullable(),
  sources: z.array(
    z.object({ name: z.string(), entries: z.int(), bytes: z.int(), per_minute: z.array(z.int()) }),
  ),
  entries: z.object({
    bucket_seconds: z.int(),
    buckets: z.array(z.object({ timestamp: z.int(), counts: z.record(z.string(), z.int()) })),
  }),
})
const cacheFigures = ['results', 'bytes', 'max_bytes', 'hits', 'misses', 'joined', 'stale', 'refreshed']
const cacheShape = z.object(
  Object.fromEntries([...cacheFigures, 'refresh_failures', 'evicted'].map((name) => [name, z.int()])),
)
const group = z.object({
  id: z.string(),
  name: z.string(),
  results: z.int(),
  bytes: z.int(),
  newest_age_seconds: z.int(),
})

export function addUsageRoutes(
  server: FastifyInstance,
  { usage, calls, endpoints }: { usage: SourceUsage; calls: EndpointCalls; endpoints: Endpoints },
): void {
  const route = routesOf(server, { tag: 'Exploring', access: 'read' })
  route('GET /api/usage', 'getUsage', 'Show the size of each source and its entries over time', {
    description: 'Entries are counted by their timestamps, not by when they arrived.',
    query,
    responses: {
      200: json('The figures, oldest minutes and buckets first.', usageShape.extend({ cache: cacheShape })),
    },
    errors: [400, 504],
    handler: async ({ query }) => {
      const { entries: results, maxBytes, refreshFailures, ...figures } = calls.cache.figures
      const cache = { results, max_bytes: maxBytes, refresh_failures: refreshFailures, ...figures }
      return { ...(await usage(query.interval)), cache }
    },
  })
  route('GET /api/cache', 'getCache', 'Show which endpoints have cached results', {
    responses: { 200: json('Endpoints with cached results.', z.object({ endpoints: z.array(group) })) },
    handler: async ({ caller }) => {
      const groups = calls.cache.groups()
      const shown = endpoints.list().filter(({ definition }) => caller?.maySee(definition))
      const named = shown.map(({ definition: { id, name } }) => ({ id, name, ...groups.get(id) }))
      return { endpoints: named.filter(({ id }) => groups.has(id)) }
    },
  })
}

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
nameComponents('output', { CachedResult: cachedResult, EndpointCache: cached })

export function addEndpointCacheRoutes(
  server: FastifyInstance,
  { definitions, calls }: { definitions: Definitions; calls: EndpointCalls },
): void {
  const route = routesOf(server, { tag: 'Endpoints', access: 'read' })
  const path = '/api/endpoints/:reference/cache'
  route(`GET ${path}`, 'listCachedResults', 'List the cached results of an endpoint', {
    description: 'Results in the memory of this process.',
    params,
    responses: { 200: json('The results.', cached) },
    handler: async ({ params, caller }) => {
      const found = definitions.find<SavedEndpoint>('endpoints', params.reference, caller)
      const { id, cache_seconds, warm_seconds } = found.definition
      const all = calls.cachedOf(id)
      return { cache_seconds, warm_seconds, total: all.length, results: all.slice(0, maxResults) }
    },
  })
  route(`DELETE ${path}`, 'dropCachedResults', 'Drop the cached results of an endpoint', {
    access: 'edit',
    description: 'The next requests compute them again. Other processes keep theirs.',
    params,
    responses: { 204: json('The results are dropped.') },
    handler: async ({ params, caller }) =>
      calls.cache.drop(definitions.find('endpoints', params.reference, caller).id),
  })
}
