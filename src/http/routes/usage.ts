import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { SourceUsage, Usage } from '../../sources/source-usage.ts'
import type { QueryRoutes } from './query.ts'
import { json, routesOf } from './route.ts'

const usageShape: z.ZodType<Usage> = z.object({
  disk: z.object({ free_bytes: z.int(), reserve_bytes: z.int() }).nullable(),
  sources: z.array(
    z.object({ name: z.string(), entries: z.int(), bytes: z.int(), per_minute: z.array(z.int()) }),
  ),
})
const groups = z.array(
  z.object({
    id: z.string(),
    name: z.string(),
    results: z.int(),
    bytes: z.int(),
    newest_age_seconds: z.int(),
  }),
)

/** What the service uses of disk and memory. */
export function addUsageRoutes(
  server: FastifyInstance,
  usage: SourceUsage,
  { calls, endpoints }: Pick<QueryRoutes, 'calls' | 'endpoints'>,
): void {
  const route = routesOf(server, { tag: 'Exploring', access: 'admin' })
  route('GET /api/usage', 'getUsage', 'Show the size of each source and its new entries per minute', {
    responses: {
      200: json(
        'Free disk space, or null if unknown. For each source its entries, its bytes on disk, and its new entries in ' +
          'each of the last 60 minutes.',
        usageShape,
      ),
    },
    errors: [504],
    handler: async () => usage.read(),
  })
  route('GET /api/cache', 'getCache', 'Show which endpoints have cached results', {
    responses: {
      200: json(
        'For each endpoint with cached results: their number, their bytes in memory, and the seconds since the query of ' +
          'the newest one started.',
        z.object({ endpoints: groups }),
      ),
    },
    handler: async () => {
      const cached = calls.cached()
      const endpointsWithResults = endpoints.list().flatMap(({ definition: { id, name } }) => {
        const group = cached.get(id)
        if (!group) return []
        const { results, bytes, newestAgeSeconds } = group
        return [{ id, name, results, bytes, newest_age_seconds: newestAgeSeconds }]
      })
      return { endpoints: endpointsWithResults }
    },
  })
}
