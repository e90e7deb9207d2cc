import type { FastifyInstance } from 'fastify'
import type { Author } from '../../core/base/author.ts'
import type { Core } from '../../core.ts'
import { dashboardDetails } from './caller-details.ts'
import { readDashboard } from './dashboard.ts'
import { dashboards as dashboardKind } from './dashboard-kind.ts'
import { Links } from './links.ts'
import { panelCalls } from './panel-access.ts'
import { addDashboardRoutes } from './routes.ts'
import { dashboardSettings } from './settings.ts'

export type OpenDashboards = Awaited<ReturnType<typeof openDashboards>>

export async function openDashboards(core: Core) {
  const { catalog, access, time, settings, endpoints, definitions, hot, streams, hooks } = core
  const { publicUrl } = settings
  const dashboards = core.items(dashboardKind, readDashboard)
  const links = new Links({
    catalog,
    access,
    clock: time.wall,
    maxDays: core.settingsOf(dashboardSettings).linkDays,
  })
  hooks.grants.push(panelCalls({ endpoints, dashboards }))
  hooks.callerDetails.push(dashboardDetails(dashboards, endpoints))
  hooks.sessionsEnded.push((id, by) => links.deleteMadeBy(id, by))
  dashboards.follow(() => {
    hot.clear()
    streams.check()
  })
  const endLinks = (dashboard: string, by: Author) => links.deleteOf(dashboard, by)
  return {
    kinds: [{ ...dashboardKind, ...dashboardKind.open({ dashboards, endpoints, endLinks }) }],
    routes: (server: FastifyInstance) =>
      addDashboardRoutes(server, { definitions, endpoints, links, publicUrl }),
  }
}
