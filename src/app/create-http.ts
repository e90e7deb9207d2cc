import { packageFile } from '../base/package-file.ts'
import { HotCalls } from '../http/hot-lane/hot-calls.ts'
import { UnreadResponses } from '../http/hot-lane/unread-responses.ts'
import { addMcpRoutes } from '../http/mcp/mcp-route.ts'
import type { Phase } from '../http/phase.ts'
import { RequestRecorder } from '../http/request-recorder.ts'
import { addAuthRoutes } from '../http/routes/access/auth.ts'
import { addPeopleRoutes } from '../http/routes/access/people.ts'
import { addTokenRoutes } from '../http/routes/access/tokens.ts'
import { addWhoamiRoutes } from '../http/routes/access/whoami.ts'
import { addAlertRoutes } from '../http/routes/alerts.ts'
import { addBackupRoutes } from '../http/routes/backup.ts'
import { addConsoleRoutes, readConsoleFiles, withBrand } from '../http/routes/console.ts'
import { addDashboardRoutes } from '../http/routes/dashboards.ts'
import { addDeploymentRoutes } from '../http/routes/deployments.ts'
import { addDocsRoutes } from '../http/routes/docs.ts'
import { addDraftRoutes } from '../http/routes/drafts.ts'
import { addEndpointRoutes } from '../http/routes/endpoints.ts'
import { addKindRoutes } from '../http/routes/kind-routes.ts'
import { addLogRoutes } from '../http/routes/logs/logs.ts'
import { addOtlpRoutes } from '../http/routes/logs/otlp.ts'
import { addSavedSearchRoutes, addSearchRoutes } from '../http/routes/logs/search.ts'
import { addTailRoutes } from '../http/routes/logs/tail.ts'
import { addProjectRoutes } from '../http/routes/projects.ts'
import { addQueryRoutes } from '../http/routes/query.ts'
import { addRequestRoutes } from '../http/routes/requests.ts'
import { addSourceRoutes } from '../http/routes/sources.ts'
import { addStatusRoutes } from '../http/routes/status.ts'
import { addTableRoutes } from '../http/routes/tables.ts'
import { addUsageRoutes } from '../http/routes/usage.ts'
import { createServer } from '../http/server.ts'
import { SessionCookies } from '../http/session-cookies.ts'
import { EventStreams } from '../http/streams/event-streams.ts'
import { gatewayTokens, urlRewriter } from '../logflare/rewrite-url.ts'
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
    sources: parts.sourceInfo,
    phase,
    brandName: settings.brandName,
    corsOrigins: settings.corsOrigins ?? [],
    embedOrigins: settings.embedOrigins,
    mcpWrite: settings.mcpWrite,
    openMetrics: settings.metrics === 'open',
    publicUrl: settings.publicUrl,
    sessionHours: settings.sessionHours,
    translatesBigQuery: gateway !== undefined,
    console: withBrand(consoleFiles ?? readConsoleFiles(packageFile('dist/console')), {
      ...settings,
      signsPeopleIn: oidc !== undefined,
    }),
  }
  const cookies = new SessionCookies(known)
  const streams = new EventStreams({ access, time, maxStreams })
  const recorder = new RequestRecorder({ ...known, log, usage: parts.projects.usage })
  const unread = new UnreadResponses({
    maxBytes: maxUnreadBytes,
    onAborted: (readers, bytes) =>
      log.warn({ readers, bytes }, 'dropped a response that the client did not read'),
  })
  const hot = new HotCalls({ ...known, cookies, recorder, unread })
  const common = { ...known, cookies, streams, recorder, unread, hot }
  const rewriteUrl = gateway && urlRewriter(gateway)
  const server = createServer({ ...common, log, maxStreams, rewriteUrl })
  for (const addRoutes of routeGroups) addRoutes(server, common)
  return { server, streams, hot }
}
