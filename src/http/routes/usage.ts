import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import {
  type SourceUsage,
  type Usage,
  type UsageInterval,
  usageIntervals,
} from '../../sources/source-usage.ts'
import type { FieldShapes } from '../openapi/json-schema.ts'
import type { QueryRoutes } from './query.ts'
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
  ...{ id: z.string(), name: z.string(), results: z.int(), bytes: z.int() },
  newest_age_seconds: z.int(),
})

export function addUsageRoutes(
  server: FastifyInstance,
  usage: SourceUsage,
  { calls, endpoints }: Pick<QueryRoutes, 'calls' | 'endpoints'>,
): void {
  const route = routesOf(server, { tag: 'Exploring', access: 'admin' })
  route('GET /api/usage', 'getUsage', 'Show the size of each source and its new entries per minute', {
    query,
    responses: {
      200: json(
        'Free disk space, or null if unknown. For each source its entries, its bytes on disk, and its new entries in ' +
          'each of the last 60 minutes. In `entries`, the number of entries by source for each bucket of the interval, ' +
          'oldest first; timestamps are microseconds. In `cache`, the results in memory, and counts since the start.',
        z.object({ ...usageShape.shape, cache: cacheShape }),
      ),
    },
    errors: [400, 504],
    handler: async ({ query }) => {
      const { entries: results, maxBytes, refreshFailures, ...figures } = calls.cache.figures
      const cache = { results, max_bytes: maxBytes, refresh_failures: refreshFailures, ...figures }
      return { ...(await usage.read(query.interval)), cache }
    },
  })
  route('GET /api/cache', 'getCache', 'Show which endpoints have cached results', {
    responses: {
      200: json(
        'For each endpoint with cached results: their number, their bytes in memory, and the seconds since the query of ' +
          'the newest one started.',
        z.object({ endpoints: z.array(group) }),
      ),
    },
    handler: async () => {
      const groups = calls.cache.groups()
      const named = endpoints.list().map(({ definition: { id, name } }) => ({ id, name, ...groups.get(id) }))
      return { endpoints: named.filter(({ id }) => groups.has(id)) }
    },
  })
}
