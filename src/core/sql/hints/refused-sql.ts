import type { Query } from '../query.ts'
import type { PathTypes } from '../warnings/path-warnings.ts'

export interface RefusedSql {
  readonly query: Query
  /** Sources or views that it can read. */
  readonly tables: readonly string[]
  /** The source that senders know by this name. */
  readonly aliased?: ((name: string) => string | undefined) | undefined
  /** Paths of metadata in recent entries of the sources that it reads. */
  readonly paths?: PathTypes | undefined
  /** Whether it is a caller's SQL, which has no parameters. */
  readonly isSandbox: boolean
}

export interface Hint {
  message: string
  /** Index of the token that is the mistake; -1 if that is not known. */
  at: number
}

/** A sentence as it is shown: backticks only mark SQL. */
export const shown = (sentence: string) => sentence.replaceAll('`', '')
