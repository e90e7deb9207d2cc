/** Time is an argument: nothing but the process edge asks the machine for it. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number
}

/** A clock that also tells when so much time has passed. */
export interface Timers extends Clock {
  /** Runs once, not before so many milliseconds have passed; what it returns calls it off. */
  after(ms: number, run: () => void): () => void
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
