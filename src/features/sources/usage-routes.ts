import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { FieldShapes } from '../../core/base/validation.ts'
import type { EndpointCalls } from '../../core/endpoints/call/endpoint-calls.ts'
import type { Endpoints } from '../../core/endpoints/manage/endpoints.ts'
import { json, routesOf } from '../../core/http/routes/route.ts'
import { type SourceUsage, type Usage, type UsageInterval, usageIntervals } from './source-usage.ts'

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
