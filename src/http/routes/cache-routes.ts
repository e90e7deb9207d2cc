import type { FastifyInstance } from 'fastify'
import type { QueryRoutes } from './query-routes.ts'

/** What the cache holds, for people who wonder how old an answer may be. */
export function addCacheRoutes(
  server: FastifyInstance,
  { calls, endpoints }: Pick<QueryRoutes, 'calls' | 'endpoints'>,
): void {
  server.get('/api/cache', async () => {
    const groups = calls.cached()
    const cached = endpoints.list().flatMap(({ definition: { id, name } }) => {
      const group = groups.get(id)
      if (!group) return []
      const { results, bytes, newestAgeSeconds } = group
      return [{ id, name, results, bytes, newest_age_seconds: newestAgeSeconds }]
    })
    return { endpoints: cached }
  })
}
