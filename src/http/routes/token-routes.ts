import type { FastifyInstance, FastifyReply } from 'fastify'
import type { TokenAdmin } from '../../access/token-admin.ts'
import { changedBy } from './management.ts'

type Identified = { Params: { id: string } }

const path = '/api/access-tokens/:id'

/** Managing access tokens. A secret is in one answer only, and nothing on the way may keep that. */
export function addTokenRoutes(server: FastifyInstance, admin: TokenAdmin): void {
  server.get('/api/access-tokens', async () => admin.list())
  server.post('/api/access-tokens', async (request, reply) => {
    const made = await admin.create(request.body, changedBy(request))
    notKept(reply).code(201).header('Location', `/api/access-tokens/${made.id}`)
    return made
  })
  server.get<Identified>(path, async ({ params }) => admin.get(params.id))
  server.put<Identified>(path, async (request) =>
    admin.change(request.params.id, request.body, changedBy(request), true),
  )
  server.patch<Identified>(path, async (request) =>
    admin.change(request.params.id, request.body, changedBy(request), false),
  )
  server.delete<Identified>(path, async (request, reply) => {
    await admin.revoke(request.params.id, changedBy(request))
    return reply.code(204).send()
  })
  server.post<Identified>(`${path}/rotate`, async (request, reply) => {
    const made = await admin.rotate(request.params.id, request.body, changedBy(request))
    notKept(reply)
    return made
  })
}

function notKept(reply: FastifyReply): FastifyReply {
  return reply.header('Cache-Control', 'no-store')
}
