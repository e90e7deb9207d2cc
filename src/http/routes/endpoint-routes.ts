import type { FastifyInstance } from 'fastify'
import { invalidParameter } from '../../base/errors.ts'
import type { EndpointAdmin } from '../../endpoints/manage/endpoint-admin.ts'
import { changedBy, expectedVersion, withVersion } from './management.ts'

type Referenced = { Params: { reference: string } }
type Versioned = { Params: { reference: string; version: string } }

const path = '/api/endpoints/:reference'

/** Managing endpoints; their id in an address may be their name. */
export function addEndpointRoutes(server: FastifyInstance, admin: EndpointAdmin): void {
  server.get('/api/endpoints', async () => admin.list())
  server.post('/api/endpoints', async (request, reply) => {
    const made = await admin.create(request.body, changedBy(request))
    reply.code(201).header('Location', `/api/endpoints/${made.id}`)
    return withVersion(reply, made)
  })
  server.get<Referenced>(path, async ({ params }, reply) => withVersion(reply, admin.get(params.reference)))
  server.put<Referenced>(path, async (request, reply) => {
    const { params, body } = request
    const changed = await admin.replace(params.reference, body, changedBy(request), expectedVersion(request))
    return withVersion(reply, changed)
  })
  server.patch<Referenced>(path, async (request, reply) => {
    const { params, body } = request
    const changed = await admin.patch(params.reference, body, changedBy(request), expectedVersion(request))
    return withVersion(reply, changed)
  })
  server.delete<Referenced>(path, async (request, reply) => {
    await admin.delete(request.params.reference, changedBy(request), expectedVersion(request))
    return reply.code(204).send()
  })
  server.get<Referenced>(`${path}/versions`, async ({ params }) => admin.versions(params.reference))
  server.get<Referenced>(`${path}/paths`, async ({ params }) => admin.paths(params.reference))
  server.post<Versioned>(`${path}/versions/:version/restore`, async (request, reply) => {
    const { reference, version } = request.params
    if (!/^[1-9]\d{0,8}$/.test(version)) {
      throw invalidParameter('version', 'version must be a whole number from 1 on.')
    }
    const by = changedBy(request)
    return withVersion(reply, await admin.restore(reference, Number(version), by, expectedVersion(request)))
  })
}
