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

/** The longest wait that a timer of Node takes; whoever needs more looks again and waits on. */
const maxTimerMs = 2 ** 31 - 1

/**
 * A clock that is set back must not make results live longer, and one that is set forward, or a machine that
 * slept, must not make them look younger than they are. So time goes with the monotonic clock, and is
 * brought forward whenever the wall clock got ahead of it.
 */
export function systemTime(wall: Clock, monotonicMs: () => number = () => performance.now()): Timers {
  let ahead = Number.NEGATIVE_INFINITY
  return {
    now: () => {
      const elapsed = monotonicMs()
      ahead = Math.max(ahead, wall.now() - elapsed)
      return elapsed + ahead
    },
    after: (ms, run) => {
      const timer = setTimeout(run, Math.min(Math.max(0, ms), maxTimerMs)).unref()
      return () => clearTimeout(timer)
    },
  }
}

export interface ManualTime extends Timers {
  /** Moves the clock on and runs what was due on the way, each at its own moment. */
  advance(ms: number): void
}

export function manualTime(clock: ManualClock = manualClock()): ManualTime {
  let timers: { atMs: number; run: () => void }[] = []
  const nextUntil = (endMs: number) => {
    let next: (typeof timers)[number] | undefined
    for (const timer of timers) {
      if (timer.atMs <= endMs && (next === undefined || timer.atMs < next.atMs)) next = timer
    }
    return next
  }
  return {
    now: () => clock.now(),
    after: (ms, run) => {
      const timer = { atMs: clock.now() + Math.max(0, ms), run }
      timers.push(timer)
      return () => {
        timers = timers.filter((other) => other !== timer)
      }
    },
    advance: (ms) => {
      const endMs = clock.now() + ms
      for (let timer = nextUntil(endMs); timer; timer = nextUntil(endMs)) {
        const due = timer
        timers = timers.filter((other) => other !== due)
        clock.advance(Math.max(0, due.atMs - clock.now()))
        due.run()
      }
      clock.advance(endMs - clock.now())
    },
  }
}
