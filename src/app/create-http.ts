import { packageFile } from '../core/base/package-file.ts'
import { HotCalls } from '../core/http/hot-lane/hot-calls.ts'
import { UnreadResponses } from '../core/http/hot-lane/unread-responses.ts'
import type { Phase } from '../core/http/phase.ts'
import { RequestRecorder } from '../core/http/request-recorder.ts'
import { addTokenRoutes } from '../core/http/routes/access/tokens.ts'
import { addWhoamiRoutes } from '../core/http/routes/access/whoami.ts'
import { addDeploymentRoutes } from '../core/http/routes/deployments.ts'
import { addDraftRoutes } from '../core/http/routes/drafts.ts'
import { addEndpointRoutes } from '../core/http/routes/endpoints.ts'
import { addKindRoutes } from '../core/http/routes/kind-routes.ts'
import { addLogRoutes } from '../core/http/routes/logs/logs.ts'
import { addOtlpRoutes } from '../core/http/routes/logs/otlp.ts'
import { addQueryRoutes, type FollowCall } from '../core/http/routes/query.ts'
import { createServer } from '../core/http/server.ts'
import { SessionCookies } from '../core/http/session-cookies.ts'
import { EventStreams } from '../core/http/streams/event-streams.ts'
import { addAlertRoutes } from '../features/alerts/routes.ts'
import { addBackupRoutes } from '../features/backup/routes.ts'
import { addDocsRoutes } from '../features/console/docs-routes.ts'
import { addConsoleRoutes, readConsoleFiles, withBrand } from '../features/console/routes.ts'
import { dashboardDetails } from '../features/dashboards/caller-details.ts'
import { panelCalls } from '../features/dashboards/panel-access.ts'
import { addDashboardRoutes } from '../features/dashboards/routes.ts'
import { followResult } from '../features/live/follow-result.ts'
import { addTailRoutes } from '../features/live/routes.ts'
import { entryDetails } from '../features/logs/caller-details.ts'
import { addSavedSearchRoutes, addSearchRoutes } from '../features/logs/routes.ts'
import { addMcpRoutes } from '../features/mcp/routes.ts'
import { addAuthRoutes } from '../features/people/auth-routes.ts'
import { addPeopleRoutes } from '../features/people/routes.ts'
import { planDetails } from '../features/plans/caller-details.ts'
import { addProjectRoutes } from '../features/plans/routes.ts'
import { addReplayRoutes } from '../features/replay/routes.ts'
import { sourceDetails } from '../features/sources/caller-details.ts'
import { addSourceRoutes } from '../features/sources/routes.ts'
import { addRequestRoutes } from '../features/statistics/request-routes.ts'
import { addStatusRoutes } from '../features/statistics/status-routes.ts'
import { addUsageRoutes } from '../features/statistics/usage-routes.ts'
import { bigQueryDetails } from '../features/supabase/caller-details.ts'
import { gatewayTokens, urlRewriter } from '../features/supabase/rewrite-url.ts'
import { addTableRoutes } from '../features/tables/routes.ts'
import { kinds } from '../kinds.ts'
import type { Parts } from './create-parts.ts'
import type { ServiceOptions } from './service-options.ts'

const maxUnreadBytes = 256 * 2 ** 20

export type Http = ReturnType<typeof createHttp>

/** Each takes what it needs of the parts of the service. */
const routeGroups = [
  addQueryRoutes,
  addMcpRoutes,
  addKindRoutes,
  addLogRoutes,
  addOtlpRoutes,
  addEndpointRoutes,
  addReplayRoutes,
  addDeploymentRoutes,
  addAlertRoutes,
  addDashboardRoutes,
  addSourceRoutes,
  addTableRoutes,
  addTailRoutes,
  addProjectRoutes,
  addTokenRoutes,
  addAuthRoutes,
  addPeopleRoutes,
  addBackupRoutes,
  addWhoamiRoutes,
  addDraftRoutes,
  addUsageRoutes,
  addRequestRoutes,
  addSearchRoutes,
  addSavedSearchRoutes,
  addStatusRoutes,
  addDocsRoutes,
  addConsoleRoutes,
]

/** The HTTP server with all routes. */
export function createHttp(
  { settings, time, log, environment, consoleFiles }: ServiceOptions,
  parts: Parts,
  phase: () => Phase,
) {
  const { access, oidc } = parts
  const maxStreams = settings.liveStreams
  const gateway = gatewayTokens(environment)
  const known = {
    ...parts,
    kinds,
    sources: parts.sourceInfo,
    phase,
    brandName: settings.brandName,
    corsOrigins: settings.corsOrigins ?? [],
    embedOrigins: settings.embedOrigins,
    mcpWrite: settings.mcpWrite,
    openMetrics: settings.metrics === 'open',
    publicUrl: settings.publicUrl,
    sessionHours: settings.sessionHours,
    callerDetails: [
      dashboardDetails(parts.dashboards, parts.endpoints),
      sourceDetails(parts.sourceInfo),
      entryDetails(parts.sourceInfo, parts.search),
      planDetails(parts.projects.plans),
      bigQueryDetails(gateway !== undefined),
    ],
    console: withBrand(consoleFiles ?? readConsoleFiles(packageFile('dist/console')), {
      ...settings,
      signsPeopleIn: oidc !== undefined,
    }),
  }
  const cookies = new SessionCookies(known)
  const streams = new EventStreams({ access, time, maxStreams })
  const recorder = new RequestRecorder({
    log,
    tracing: parts.tracing,
    endpoints: parts.endpoints,
    finished: [(status) => parts.requests.add(status)],
    recorded: [
      (record) => parts.statistics?.add(record),
      (record) => parts.metrics.called(record),
      (record) => parts.projects.usage.called(record),
    ],
  })
  const unread = new UnreadResponses({
    maxBytes: maxUnreadBytes,
    onAborted: (readers, bytes) =>
      log.warn({ readers, bytes }, 'dropped a response that the client did not read'),
  })
  const hot = new HotCalls({ ...known, cookies, recorder, unread })
  const common = {
    ...known,
    cookies,
    streams,
    recorder,
    unread,
    hot,
    grants: [panelCalls(parts)],
    follow: (...call: Parameters<FollowCall>) => followResult({ ...parts, streams }, ...call),
  }
  const rewriteUrl = gateway && urlRewriter(gateway)
  const server = createServer({ ...common, log, maxStreams, rewriteUrl })
  for (const addRoutes of routeGroups) addRoutes(server, common)
  return { server, streams, hot }
}
