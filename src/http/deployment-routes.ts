import type { FastifyInstance } from 'fastify'
import type { Deployments } from '../endpoints/deployments.ts'
import { changedBy } from './management.ts'

/** Many endpoints at once, all or none. */
export function addDeploymentRoutes(server: FastifyInstance, deployments: Deployments): void {
  server.post('/api/deployments', async (request) => deployments.deploy(request.body, changedBy(request)))
}
