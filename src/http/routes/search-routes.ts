import type { FastifyInstance } from 'fastify'
import type { LogSearch } from '../../sources/log-search.ts'
import type { SourceUsage } from '../../sources/source-usage.ts'
import { goneSignal } from './query-routes.ts'

type Named = { Params: { name: string } }

/** Finding entries, for people who look for them. */
export function addSearchRoutes(server: FastifyInstance, search: LogSearch, usage: SourceUsage): void {
  server.get('/api/usage', async () => usage.read())
  server.post<Named>('/api/sources/:name/search', async (request, reply) => {
    const rows = await search.entries(request.params.name, request.body ?? {}, goneSignal(request, reply))
    return reply.type('application/json; charset=utf-8').send(rows)
  })
  server.post<Named>('/api/sources/:name/histogram', async (request, reply) =>
    search.histogram(request.params.name, request.body ?? {}, goneSignal(request, reply)),
  )
  server.post<Named>('/api/sources/:name/values', async (request, reply) =>
    search.values(request.params.name, request.body ?? {}, goneSignal(request, reply)),
  )
}
