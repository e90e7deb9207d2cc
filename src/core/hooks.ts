import type { IncomingMessage } from 'node:http'
import type { PlanLimits } from './access/caller.ts'
import type { FindHolder } from './access/token-admin.ts'
import type { Author } from './base/author.ts'
import type { Tracing } from './base/tracing.ts'
import type { TableColumns } from './endpoints/manage/endpoint-kind.ts'
import type { RequestRecord } from './http/request-record.ts'
import type { CallerDetails } from './http/routes/access/whoami.ts'
import type { FollowCall, GrantCall } from './http/routes/query.ts'
import type { Admit, PendingInserts } from './intake/admission.ts'
import type { ErasedKeys } from './intake/idempotency.ts'
import type { IntakeObserver } from './intake/log-intake.ts'
import type { HiddenRows } from './sql/isolation.ts'

/** Entries of a project that are being erased. */
export interface ErasedEntries {
  project: string
  /** Whether the project loses all that it has. */
  everything: boolean
  /** Names of the sources. */
  sources: readonly string[]
}

/** Tells whether a result of a call may contain erased entries. Results of other tenants have none. */
export function readsErased({ project, sources }: ErasedEntries) {
  return (call: { project: string | undefined; sources: ReadonlySet<string> }): boolean =>
    (call.project ?? project) === project && sources.some((name) => call.sources.has(name))
}

/** What a feature does when entries are erased. */
export interface ErasureHook {
  /** Drops what was computed from the entries. */
  forget?(erased: ErasedEntries): Promise<void> | void
  /** Removes the rows of a project that are not entries. */
  eraseRows?(project: string): Promise<void>
}

/** Places where features take part in the work of core. Each feature fills them while it opens, and core calls them in that order. */
export interface Hooks {
  /** Conditions for rows that nobody may see anymore. */
  readonly hiddenRows: (() => HiddenRows | undefined)[]
  /** Tables beside sources that SQL can read. */
  tables: TableColumns
  /** Drops what was computed from a source or table whose rows are others now. */
  readonly rowsReplaced: ((name: string) => void)[]
  /** Receives the lines of a source that are on disk now. */
  readonly linesStored: ((source: string, lines: Iterable<Buffer>) => void)[]
  /** Stores what waits in memory to become entries. */
  readonly flushEntries: (() => Promise<void>)[]
  /** Stores counts of entries that wait in memory. */
  readonly flushCounts: (() => Promise<void>)[]
  readonly erasure: ErasureHook[]
  /** Projects whose rows were erased from all tables. */
  readonly erasedProjects: (() => ReadonlySet<string>)[]
  /** What erasures mean for idempotency keys. */
  erasedKeys: ErasedKeys | undefined

  /** Limits that the tokens of a project have. */
  readonly projectLimits: ((project: string) => PlanLimits)[]
  /** Refuses lines of projects beyond their limits. The last feature that sets it decides. */
  admit: Admit
  /** Stores entries about projects that operators should hear of. */
  storeNotices: ((lines: Buffer, token: string) => Promise<void>) | undefined
  /** Remembers inserts under way. */
  pending: PendingInserts | undefined

  /** Finds people who hold sessions without a token. */
  readonly holders: FindHolder[]
  /** Grants calls of endpoints that no scope of the caller allows. */
  readonly grants: GrantCall[]
  /** Streams the result of a call. Undefined: results cannot be followed. */
  followCall: FollowCall | undefined
  /** Ends a session of a person. False: the owner of the cookie is a token. */
  signOutPerson: ((owner: string, cookie: string, by: Author) => Promise<boolean>) | undefined
  /** Whether people sign in without a token of their own. */
  signsPeopleIn: boolean
  /** Fields of `whoami`. */
  readonly callerDetails: CallerDetails[]
  /** Ends what a person or token has made for others, when its sessions end. */
  readonly sessionsEnded: ((id: string, by: Author) => Promise<unknown>)[]

  /** Keeps a copy of all definitions before a migration, and returns where it is. */
  keepDefinitions: ((schema: number) => Promise<string>) | undefined

  /** Undefined: the service sends no traces. */
  tracing: Tracing | undefined
  /** Leads requests with other URLs to routes. With it, URLs can contain SQL. */
  rewriteUrl: ((request: IncomingMessage) => string) | undefined

  /** Receives the status of each finished request. */
  readonly requestFinished: ((status: number) => void)[]
  /** Receives each finished request to an endpoint. */
  readonly callRecorded: ((record: RequestRecord) => void)[]
  /** Receives the duration of each query of an endpoint, by the purpose that metrics show. */
  readonly queryRan: ((purpose: string, ms: number) => void)[]
  readonly intake: IntakeObserver[]
}
