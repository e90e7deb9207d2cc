import type { TraceContext } from '../base/tracing.ts'

/** What the rest of the service knows of ClickHouse, embedded or remote. */
export interface Engine {
  query(statement: Statement, limits: Limits): Promise<QueryResult>
  /** Resolves when the rows are on disk. They go to the engine as the bytes that they are. */
  insert(target: InsertInto, rows: Buffer, limits: Limits): Promise<Summary>
  /** DDL and whatever else has no result. */
  command(statement: Omit<Statement, 'format'>, limits: Limits): Promise<Summary>
  state(): EngineState
  close(): Promise<void>
}

/** SQL and its values travel as one; the values are never put into the text. */
export interface Statement {
  readonly sql: string
  readonly parameters?: Readonly<Record<string, string | number | boolean | null>>
  /** One of ClickHouse's output formats. */
  readonly format: string
  readonly settings?: Readonly<Record<string, string | number>>
}

export interface InsertInto {
  readonly table: string
  readonly columns?: readonly string[]
  readonly format: 'JSONEachRow' | 'JSONCompactEachRow' | 'TabSeparated'
  readonly settings?: Readonly<Record<string, string | number>>
}

export interface Limits {
  /** The query is really stopped after this long. */
  readonly deadlineMs: number
  readonly signal?: AbortSignal
  /** Name of the call in the engine; made up where none is given. */
  readonly queryId?: string
  /** Who is refused for a while when the statement ends the engine. */
  readonly blame?: readonly Blame[]
  /** Told to the engine, which may keep a trace of its own. */
  readonly trace?: TraceContext
}

/** Somebody or something that statements come from. What it is, the engine does not know. */
export interface Blame {
  readonly key: string
  /** Number of crashes within a day after which its statements are refused. */
  readonly crashes: number
}

export interface Summary {
  /** The embedded engine tells them of rows in JSON only. */
  readonly readRows: number | undefined
  readonly readBytes: number | undefined
  readonly writtenRows: number
  readonly writtenBytes: number
}

export interface QueryResult extends Summary {
  readonly body: Buffer
}

export type EngineState =
  | { readonly kind: 'ready'; readonly engineVersion: string; readonly restarts: number }
  | { readonly kind: 'starting' | 'down' | 'closed'; readonly reason: string; readonly restarts: number }
