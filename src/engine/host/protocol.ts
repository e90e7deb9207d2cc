/** What the service and its engine process say to each other beside the queries. */
export interface HostOptions {
  /** Directory that belongs to the engine alone. */
  directory: string
  listen: { socketPath: string } | { port: number; user: string; password: string }
  /** Database that bare table names belong to; made if it is not there. */
  database: string
  memoryBytes: number
  /** How many queries run at once. */
  sessions: number
  /** How many queries may wait for a session. */
  maxWaiting: number
  /** A query that outlives its time limit by this much takes the process with it. */
  graceMs: number
  /** Whether the data is only looked at, and no part of it merged or removed meanwhile. */
  atRest?: boolean
}

export type StartFailure = 'in-use' | 'unwritable' | 'no-engine' | 'other'

export type ToHost =
  | { type: 'start'; options: HostOptions }
  | { type: 'ping'; id: number }
  | { type: 'stop'; withinMs: number }

export type FromHost =
  | { type: 'ready'; engineVersion: string; port: number | undefined }
  | { type: 'failed'; reason: StartFailure; message: string }
  | { type: 'pong'; id: number }
  | { type: 'giving-up'; queryId: string }
  | { type: 'starting-over'; reason: string }
  /** Another process seems to have the directory open, so that nothing in it was repaired before the start. */
  | { type: 'repairs-skipped' }
