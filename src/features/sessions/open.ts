import type { FastifyInstance } from 'fastify'
import type { Core } from '../../core.ts'
import { audit as auditFeature } from '../audit/index.ts'
import { addSessionRoutes } from './routes.ts'

export async function openSessions(core: Core) {
  const { access, cookies, hooks } = core
  const { audit } = core.feature(auditFeature)
  return {
    routes: (server: FastifyInstance) => addSessionRoutes(server, { access, cookies, hooks, audit }),
  }
}
