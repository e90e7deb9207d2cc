import { queryTimeout } from '../../base/errors.ts'

export type TimeLimit = ReturnType<typeof timeLimit>

/** The time limit of a run, which counts from now. */
export function timeLimit(seconds: number) {
  const since = performance.now()
  return {
    seconds,
    /** Throws if nothing is left. */
    leftMs: () => {
      const leftMs = seconds * 1000 - (performance.now() - since)
      if (leftMs <= 0) throw queryTimeout(seconds)
      return leftMs
    },
  }
}
