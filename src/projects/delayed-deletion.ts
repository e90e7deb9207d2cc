const dayMs = 86_400_000

/** The first midnight (UTC) after a delay since a change. */
export function deletionTime(changedMs: number, delayMs: number): number {
  return Math.ceil((changedMs + delayMs) / dayMs) * dayMs
}

/** Versions that were in force at this time or later still protect entries: the opposite of `deletionTime`. */
export function protectedSince(nowMs: number, delayMs: number): number {
  return Math.floor(nowMs / dayMs) * dayMs - delayMs
}
