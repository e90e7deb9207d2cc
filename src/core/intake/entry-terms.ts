import type { JsonProblem } from '../base/json/json-scanner.ts'
import type { Rules } from './rules/rules.ts'

export const entryLimits = {
  maxBytes: 2 ** 20,
  maxIdLength: 128,
  maxAheadMs: 3_600_000,
  maxDepth: 64,
  maxValues: 5_000,
} as const

export interface EntryTerms {
  nowMs: number
  /** The only project allowed; entries may omit it. */
  owner?: string | undefined
  /** If absent, entries may be of any age. */
  retentionDays?: number | undefined
  /** Where entries without a field `project` have theirs: keys in metadata, or of the entry itself. */
  projectPath?: readonly string[] | undefined
  newId?: () => string
  /** Those of the source. */
  rules?: Rules | undefined
}

/** What is known of an entry beside its text. */
export interface EntryNature {
  /** It gets the project of the sender, and keeps another one in its metadata. */
  isEvent?: boolean | undefined
  /** Its field `project` counts only if nothing else in it names a project. */
  isProjectLast?: boolean | undefined
  /** It is rejected in any case. */
  problem?: string | undefined
}

/** Why an entry is not stored. */
export interface NotStored {
  reason: string
  /** What is kept instead of the entry as it was sent, since its source has rules. */
  kept?: string
  /** A rule dropped it. */
  dropped?: true
}

/** The engine would read every path of such an entry as null, without an error. */
export const problems: Record<JsonProblem, string> = {
  number: 'a number does not fit into 64 bits',
  surrogate: 'a string contains half of a surrogate pair',
  depth: `the entry is nested more than ${entryLimits.maxDepth} levels deep`,
}
