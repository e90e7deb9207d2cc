const dayMs = 86_400_000

/** The first midnight (UTC) after a delay since a change. */
export function deletionTime(changedMs: number, delayMs: number): number {
  return Math.ceil((changedMs + delayMs) / dayMs) * dayMs
}

/** Versions that were in force at this time or later still protect entries: the opposite of `deletionTime`. */
export function protectedSince(nowMs: number, delayMs: number): number {
  return Math.floor(nowMs / dayMs) * dayMs - delayMs
}

/** A version of something, in the order of versions. */
export interface DatedVersion {
  version: number
  changed_at: string
}

/**
 * The versions that were in force at a time or later, and the times from which they were. Older versions can be gone; then it is
 * unknown what was in force at that time.
 */
export function versionsSince<Version extends DatedVersion>(versions: readonly Version[], sinceMs: number) {
  const first = versions.findLastIndex(({ changed_at }) => Date.parse(changed_at) <= sinceMs)
  const [oldest] = versions
  return {
    versions: versions.slice(Math.max(0, first)),
    isComplete: first >= 0 || oldest === undefined || oldest.version === 1,
  }
}

/** How long a clock has to run without a jump until entries are deleted by it. */
const steadyMs = 3_600_000

/**
 * Returns whether the clock can be trusted to delete by it: it has run for an hour without a jump. A machine may start with a
 * wrong time. To be called at an interval.
 */
export function steadyClock(everyMs: number) {
  let sinceMs = Number.NaN
  let lastMs = Number.NaN
  return (nowMs: number): boolean => {
    const isContinued = nowMs >= lastMs && nowMs - lastMs <= 2 * everyMs
    if (!isContinued) sinceMs = nowMs
    lastMs = nowMs
    return nowMs - sinceMs >= steadyMs
  }
}
