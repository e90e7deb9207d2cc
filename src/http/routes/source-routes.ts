import type { FastifyInstance } from 'fastify'
import type { SourceAdmin } from '../../sources/source-admin.ts'
import { changedBy } from './management.ts'

type Named = { Params: { name: string } }

/** Reading and managing sources. */
export function addSourceRoutes(server: FastifyInstance, admin: SourceAdmin): void {
  server.get('/api/sources', async () => admin.list())
  server.get<Named>('/api/sources/:name', async ({ params }) => admin.get(params.name))
  server.get<Named>('/api/sources/:name/schema', async ({ params }) => admin.schema(params.name))
  server.get<Named & { Querystring: { limit?: string } }>(
    '/api/sources/:name/recent',
    async (request, reply) => {
      const rows = await admin.recent(request.params.name, request.query.limit)
      return reply.type('application/json; charset=utf-8').send(rows)
    },
  )
  server.post('/api/sources', async (request, reply) => {
    reply.code(201)
    return admin.create(request.body, changedBy(request))
  })
  for (const method of ['PUT', 'PATCH'] as const) {
    server.route<Named>({
      method,
      url: '/api/sources/:name',
      handler: async (request) => admin.change(request.params.name, request.body, changedBy(request)),
    })
  }
  server.delete<Named & { Querystring: { confirm?: string } }>(
    '/api/sources/:name',
    async (request, reply) => {
      await admin.delete(request.params.name, request.query.confirm, changedBy(request))
      return reply.code(204).send()
    },
  )
}
