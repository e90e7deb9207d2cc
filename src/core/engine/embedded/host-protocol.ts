export interface HostOptions {
  /** Directory that belongs to the engine alone. */
  directory: string
  /** For the configuration of the server, which only the user of the service can read. */
  runtimeDirectory: string
  /** The reader's grants are for this database. */
  database: string
  memoryBytes: number
  credentials: {
    /** Required in a header of every statement. Empty: none. */
    key: string
    service: User
    /** Can only read sources. */
    reader: User
  }
  /** Opens the data without merging or removing any of it. */
  atRest?: boolean
  /** Of the service's user. */
  grants: readonly string[]
  /** For tests of servers: by default a port that the system chooses, HTTP alone, and nothing more. */
  port?: number
  protocols?: readonly ('HTTP' | 'TCP')[]
  extraConfig?: string
}

export interface User {
  user: string
  password: string
}

/** If the server ended, the standard error output says why. */
type StartFailure = 'in-use' | 'unwritable' | 'no-engine' | 'ended' | 'other'

/** The engine cannot start here, and a retry would not help. */
export class EngineStartError extends Error {
  readonly reason: StartFailure
  constructor(reason: StartFailure, message: string) {
    super(message)
    this.reason = reason
  }
}

export type FromHost =
  | { type: 'listening'; port: number }
  | { type: 'failed'; reason: StartFailure; message: string }
  /** Another process seems to use the directory, so the start did not repair it. */
  | { type: 'repairs-skipped' }
