export interface HostOptions {
  /** Directory that belongs to the engine alone. */
  directory: string
  socketPath: string
  /** Default database; created if it does not exist. */
  database: string
  memoryBytes: number
  sessions: number
  maxWaiting: number
  /** A query that outlives its time limit by this much ends the process. */
  graceMs: number
  /** Opens the data without merging or removing any of it. */
  atRest?: boolean
  /** XML that is added to the engine's configuration, and grants of its user instead of the usual ones. For tests. */
  extraConfig?: string
  grants?: readonly string[]
}

export type StartFailure = 'in-use' | 'unwritable' | 'no-engine' | 'other'

/** The engine cannot start here, and a retry would not help. */
export class EngineStartError extends Error {
  readonly reason: StartFailure
  constructor(reason: StartFailure, message: string) {
    super(message)
    this.reason = reason
  }
}

/** Messages between the service and its engine process, besides queries. */
export type ToHost =
  | { type: 'start'; options: HostOptions }
  | { type: 'ping'; id: number }
  | { type: 'stop'; withinMs: number }

export type FromHost =
  | { type: 'ready'; engineVersion: string }
  | { type: 'failed'; reason: StartFailure; message: string }
  | { type: 'pong'; id: number }
  /** A query ignored its time limit, so the process ends. */
  | { type: 'giving-up'; queryId: string }
  /** The engine must open its store again, so the process ends. */
  | { type: 'restarting'; reason: string }
  /** Another process seems to use the directory, so the start did not repair it. */
  | { type: 'repairs-skipped' }
