import type { InsertMark } from '../engine/engine.ts'
import type { ProjectLines } from './line-projects.ts'

/** Reason of entries beyond the limits of their project. */
export const overLimitReason = 'quota_exceeded'

/** Lines that are being stored, as who admitted them counts them. */
export interface PendingLines {
  /** Whether the engine has the lines of an earlier request with the same key. */
  isRepeated?: boolean
}

/** Remembers inserts under way, so that a start after a crash can count them. */
export interface PendingInserts {
  begin(mark: InsertMark, lines: readonly PendingLines[]): void
  end(lines: readonly PendingLines[]): void
}

/** Which lines of a request may be stored. */
export interface Admission {
  /** Indices of lines of projects that have used up their day. */
  over: ReadonlySet<number>
  /** Indices of rejected lines that would use up more than what is left of the day. */
  notKept: ReadonlySet<number>
  /** The lines that may be stored. */
  counts: PendingLines
  /** Counts the lines that were stored: all others but these. */
  stored(refused?: ReadonlyMap<number, unknown>): void
  /** Must be called at the end, whether or not lines were stored. */
  release(): void
}

/** Admits the lines of a request, and those that the quarantine would keep of it. */
export type Admit = (lines: ProjectLines, rejected: ProjectLines) => Promise<Admission>

/** Admits all lines, and counts nothing. */
export const admitAll: Admit = async () => ({
  over: new Set(),
  notKept: new Set(),
  counts: {},
  stored: () => {},
  release: () => {},
})
