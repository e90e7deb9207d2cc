import type { FastifyInstance } from 'fastify'
import type { Core } from '../../core.ts'
import { logs } from '../logs/index.ts'
import { sources } from '../sources/index.ts'
import { addMcpRoutes } from './routes.ts'
import { mcpSettings } from './settings.ts'

export type OpenMcp = Awaited<ReturnType<typeof openMcp>>

export async function openMcp(core: Core) {
  const { access, recorder, definitions, endpoints, calls, drafts, settings } = core
  return {
    routes: (server: FastifyInstance) =>
      addMcpRoutes(server, {
        ...{ access, recorder, definitions, endpoints, calls, drafts },
        sources: core.feature(sources).info,
        search: core.feature(logs).search,
        corsOrigins: settings.corsOrigins ?? [],
        mcpWrite: core.settingsOf(mcpSettings).mcpWrite,
        tools: () => core.tools(),
      }),
  }
}
