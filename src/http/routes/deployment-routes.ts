import type { FastifyInstance } from 'fastify'
import type { Deployments } from '../../endpoints/manage/deployments.ts'
import { jsonLimits } from '../json-bodies.ts'
import { changedBy } from './management.ts'

/** Many endpoints at once, all or none. */
export function addDeploymentRoutes(server: FastifyInstance, deployments: Deployments): void {
  const options = { bodyLimit: jsonLimits.maxDeploymentBytes }
  server.post('/api/deployments', options, async (request) =>
    deployments.deploy(request.body, changedBy(request)),
  )
}
