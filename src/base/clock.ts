/** Time is an argument: nothing but the process edge asks the machine for it. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

export interface ManualClock extends Clock {
  advance(ms: number): void
}

export function manualClock(startMs = Date.UTC(2026, 0, 1)): ManualClock {
  let current = startMs
  return {
    now: () => current,
    advance: (ms) => {
      current += ms
    },
  }
}
