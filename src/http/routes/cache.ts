import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { json, routesOf } from '../route.ts'
import type { QueryRoutes } from './query.ts'

const groups = z.array(
  z.object({
    id: z.string(),
    name: z.string(),
    results: z.int(),
    bytes: z.int(),
    newest_age_seconds: z.int(),
  }),
)

export function addCacheRoutes(
  server: FastifyInstance,
  { calls, endpoints }: Pick<QueryRoutes, 'calls' | 'endpoints'>,
): void {
  const route = routesOf(server, { tag: 'Exploring', access: 'admin' })
  route('GET /api/cache', {
    id: 'getCache',
    summary: 'Show which endpoints have cached results',
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
