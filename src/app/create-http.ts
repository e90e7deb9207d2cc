import { packageFile } from '../base/package-file.ts'
import type { Definitions } from '../definitions/definitions.ts'
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
import { addConsoleRoutes, readConsoleFiles } from '../http/routes/console.ts'
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
import { addReplayRoutes } from '../http/routes/replays.ts'
import { addRequestRoutes } from '../http/routes/requests.ts'
import { addSourceRoutes } from '../http/routes/sources.ts'
import { addStatusRoutes } from '../http/routes/status.ts'
import { addTableRoutes } from '../http/routes/tables.ts'
import { addEndpointCacheRoutes, addUsageRoutes } from '../http/routes/usage.ts'
import { createServer } from '../http/server.ts'
import { SessionCookies } from '../http/session-cookies.ts'
import { EventStreams } from '../http/streams/event-streams.ts'
import { gatewayTokens, urlRewriter } from '../logflare/rewrite-url.ts'
import type { AccessParts } from './create-access.ts'
import type { Alerts } from './create-alerts.ts'
import type { EndpointParts } from './create-endpoints.ts'
import type { LogParts } from './create-logs.ts'
import type { Observability } from './create-observability.ts'
import type { Storage } from './create-storage.ts'
import type { ServiceOptions } from './service-options.ts'

const maxUnreadBytes = 256 * 2 ** 20

export type Http = ReturnType<typeof createHttp>

interface Parts {
  storage: Storage
  observability: Observability
  endpoints: EndpointParts
  access: AccessParts
  alerts: Alerts
  definitions: Definitions
  logs: LogParts
  phase: () => Phase
}

/** The HTTP server, and each group of routes with the parts that it needs. */
export function createHttp(
  { settings, time, log, environment }: ServiceOptions,
  {
    storage,
    observability,
    endpoints: endpointParts,
    access: accessParts,
    alerts,
    definitions,
    logs,
    phase,
  }: Parts,
) {
  const { endpoints, tables, dashboards, projects, tail, backups, engineStatus, leak } = storage
  const { calls, results, drafts, replays, reports, tableUsers } = endpointParts
  const { access, people, tokens, links, oidc, audit } = accessParts
  const { intake, sources, search, searches, usage } = logs
  const { metrics, requests, statistics, tracing } = observability
  const { brandName, embedOrigins, mcpWrite, publicUrl } = settings
  const corsOrigins = settings.corsOrigins ?? []
  const openMetrics = settings.metrics === 'open'
  const gateway = gatewayTokens(environment)
  const cookies = new SessionCookies({ access, publicUrl, sessionHours: settings.sessionHours })
  const streams = new EventStreams({ access, time, maxStreams: settings.liveStreams })
  const recorder = new RequestRecorder({
    log,
    tracing,
    requests,
    statistics,
    metrics,
    endpoints,
    usage: projects.usage,
  })
  const unread = new UnreadResponses({
    maxBytes: maxUnreadBytes,
    onAborted: (readers, bytes) =>
      log.warn({ readers, bytes }, 'dropped a response that the client did not read'),
  })
  const hot = new HotCalls({ access, cookies, calls, recorder, unread, corsOrigins, phase })
  const server = createServer({
    log,
    access,
    cookies,
    recorder,
    unread,
    hot,
    phase,
    leak,
    corsOrigins,
    maxStreams: settings.liveStreams,
    rewriteUrl: gateway && urlRewriter(gateway),
  })
  addQueryRoutes(server, { endpoints, dashboards, calls, results, streams, hot })
  addMcpRoutes(server, {
    access,
    recorder,
    definitions,
    endpoints,
    calls,
    drafts,
    sources,
    search,
    corsOrigins,
    mcpWrite,
  })
  addKindRoutes(server, { definitions })
  addLogRoutes(server, { intake })
  addOtlpRoutes(server, { intake })
  addEndpointRoutes(server, { definitions, endpoints })
  addEndpointCacheRoutes(server, { definitions, calls })
  addReplayRoutes(server, { replays, definitions })
  addDeploymentRoutes(server, { definitions })
  addAlertRoutes(server, { definitions, alertTests: alerts.tests })
  addDashboardRoutes(server, { definitions, endpoints, links, publicUrl })
  addSourceRoutes(server, { sources })
  addTableRoutes(server, { definitions, tables, tableUsers })
  addTailRoutes(server, { sources, tail, streams })
  addProjectRoutes(server, { projects, audit })
  addTokenRoutes(server, { tokens })
  addAuthRoutes(server, { access, cookies, people, oidc, audit })
  addPeopleRoutes(server, { people })
  addBackupRoutes(server, { backups, audit })
  const translatesBigQuery = gateway !== undefined
  addWhoamiRoutes(server, { endpoints, dashboards, tokens, people, sources, translatesBigQuery })
  addDraftRoutes(server, { drafts })
  addUsageRoutes(server, { usage, calls, endpoints })
  addRequestRoutes(server, { reports, definitions, endpoints, tokens })
  addSearchRoutes(server, { search, sources })
  addSavedSearchRoutes(server, { searches })
  addStatusRoutes(server, { engineStatus, phase, metrics, openMetrics })
  addDocsRoutes(server, { endpoints, brandName })
  const signsPeopleIn = oidc !== undefined
  const console = readConsoleFiles(packageFile('dist/console'), { ...settings, signsPeopleIn })
  addConsoleRoutes(server, { console, embedOrigins })
  return { server, streams, hot }
}
