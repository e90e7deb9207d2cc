import type { Access } from '../access/access.ts'
import type { Audit } from '../access/audit.ts'
import type { Links } from '../access/links.ts'
import type { Oidc } from '../access/oidc.ts'
import type { People } from '../access/people.ts'
import type { TokenAdmin } from '../access/token-admin.ts'
import type { AlertTests } from '../alerts/alert-tests.ts'
import type { Backups } from '../backup/backups.ts'
import type { Log } from '../base/log.ts'
import type { Tracing } from '../base/tracing.ts'
import type { Dashboards } from '../dashboards/dashboard-kind.ts'
import type { Definitions } from '../definitions/definitions.ts'
import type { EndpointCalls } from '../endpoints/call/endpoint-calls.ts'
import type { EndpointDrafts } from '../endpoints/manage/endpoint-drafts.ts'
import type { Endpoints } from '../endpoints/manage/endpoints.ts'
import type { Replays } from '../endpoints/manage/replays.ts'
import type { RequestReports } from '../endpoints/report/request-report.ts'
import type { LogIntake } from '../intake/log-intake.ts'
import type { LiveResults } from '../live/live-results.ts'
import type { LiveTail } from '../live/live-tail.ts'
import type { Metrics, RequestCounts } from '../observability/metrics.ts'
import type { RequestStatistics } from '../observability/request-statistics.ts'
import type { LogSearch } from '../sources/log-search.ts'
import type { SavedSearches } from '../sources/saved-searches.ts'
import type { SourceInfo } from '../sources/source-info.ts'
import type { SourceUsage } from '../sources/source-usage.ts'
import type { EngineStatus } from './engine-status.ts'
import type { ServedFile } from './send-file.ts'
import type { SessionCookies } from './session-cookies.ts'
import type { EventStreams } from './streams/event-streams.ts'

/** The parts of the service that requests use. Each file of routes takes those that it needs. */
export interface ServerOptions {
  log: Log
  access: Access
  cookies: SessionCookies
  people: People
  /** Undefined: people sign in with tokens only. */
  oidc: Oidc | undefined
  audit: Pick<Audit, 'write'>
  tokens: TokenAdmin
  links: Links
  definitions: Definitions
  endpoints: Endpoints
  calls: EndpointCalls
  results: LiveResults
  dashboards: Dashboards
  replays: Replays
  drafts: EndpointDrafts
  alertTests: AlertTests
  intake: LogIntake
  sources: SourceInfo
  search: LogSearch
  searches: SavedSearches
  usage: SourceUsage
  tail: LiveTail
  streams: EventStreams
  backups: Backups
  /** Undefined if requests to endpoints are not recorded. */
  reports: RequestReports | undefined
  statistics: RequestStatistics | undefined
  metrics: Metrics
  requests: RequestCounts
  tracing: Tracing | undefined
  engineStatus: () => EngineStatus
  /** What one tenant can see of another, if anything. Asked for every request. */
  leak: () => string | undefined
  stopping: () => boolean
  /** Whether everything besides the engine is ready. */
  open: () => boolean
  console: ConsoleFiles
  /** Origin of the service as browsers see it. */
  publicUrl: string | undefined
  /** Origins whose pages can send requests; `*` allows all. */
  corsOrigins: readonly string[]
  /** Origins whose pages can show an endpoint in a frame; `*` allows all. */
  embedOrigins: readonly string[]
  brandName: string | undefined
  maxStreams: number
  openMetrics: boolean
  /** Whether admins and editors have tools that save endpoints. */
  mcpWrite: boolean
  /** Whether URLs can contain SQL, and BigQuery SQL is translated. */
  logflare: boolean
}

export interface ConsoleFiles {
  page?: ServedFile | undefined
  embed?: ServedFile | undefined
  assets: ReadonlyMap<string, ServedFile>
  /** The logo of the service's owner. */
  logo?: ServedFile | undefined
}
