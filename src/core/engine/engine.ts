import type { TraceContext } from '../base/tracing.ts'
import type { SqlText } from '../sql/tree.ts'

/** ClickHouse, embedded or remote. */
export interface Engine {
  /** Holds all tables of the service. Statements that name no database use it. */
  readonly database: string
  query(statement: Statement, limits: Limits): Promise<QueryResult>
  /** Resolves when the rows are on disk. */
  insert(target: InsertInto, rows: Buffer, limits: InsertLimits): Promise<void>
  /** Whether a table has rows of inserts that were sent after a mark. Only an embedded engine gives marks. */
  hasInserts?(mark: InsertMark): Promise<boolean>
  /** Runs DDL and other statements without a result. */
  command(statement: Omit<Statement, 'format'>, limits: Limits): Promise<void>
  state(): EngineState
  close(): Promise<void>
}

/** SQL and its values, which never become part of its text. */
export interface Statement extends SqlText {
  readonly format: string
  readonly settings?: Readonly<Record<string, string | number>>
}

/** Limit of a result for a caller. Each megabyte blocks the engine process for some milliseconds. */
export const maxResultBytes = 32 * 2 ** 20

export interface InsertInto {
  readonly table: string
  readonly columns?: readonly string[]
  readonly format: 'JSONEachRow' | 'JSONCompactEachRow' | 'TabSeparated'
  readonly settings?: Readonly<Record<string, string | number>>
}

export interface Limits {
  readonly deadlineMs: number
  readonly signal?: AbortSignal
  readonly queryId?: string
  /** Whether to run it as a user that can only read sources: for SQL that authors and callers wrote. */
  readonly asReader?: boolean
  /** Called if the engine does not end the statement at its deadline. */
  readonly onOverdue?: () => void
  /** Who is refused for a while if the statement crashes the engine. */
  readonly blame?: readonly Blame[]
  /** Whether the statement must not see rows of other tenants: it fails on an engine that shows them. */
  readonly isolated?: boolean
  /** Sent to the engine, which may record spans of its own. */
  readonly trace?: TraceContext
}

export interface InsertLimits extends Limits {
  /** Called before the rows are sent, each time. */
  readonly onSend?: (mark: InsertMark) => void
}

/** A place in the engine's log of the inserts of a table. A plain value, which another process can use. */
export interface InsertMark {
  table: string
  directory: string
  /** End of the table's log; undefined if it has none. */
  log?: { file: string; bytes: number } | undefined
  /** Number of days of the rows, of which the engine stores one after the other. By default, one. */
  days?: number
}

/** An origin of statements, such as a caller or an endpoint. */
export interface Blame {
  readonly key: string
  /** Number of crashes within a day after which its statements are refused. May be a fraction. */
  readonly crashes: number
}

export interface QueryResult {
  readonly body: Buffer
  readonly readRows: number | undefined
  readonly readBytes: number | undefined
}

/** How the engine runs a query, and what it expects to read. */
export interface QueryPlan {
  plan: string
  reads: { table: string; parts: number; rows: number; marks: number }[]
}

/** Of all nodes together: the version of the first one that is ready. */
export interface EngineState {
  readonly ready: boolean
  readonly version?: string
  /** Why it is not ready. */
  readonly reason?: string
  readonly restarts: number
  /** What one tenant can see of another on any node that can be reached, or on any node if none can. */
  readonly leak?: string
  readonly nodes?: readonly NodeState[]
}

export interface NodeState extends Omit<EngineState, 'nodes'> {
  readonly node: string
}
