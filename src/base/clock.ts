/** Time is an argument: only the process edge reads the machine's clock. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number
}

/** The service's time. Its own `now` never goes back, so results and limits age by it. */
export interface Timers extends Clock {
  /** The wall clock, for timestamps. It can be set back. */
  readonly wall: Clock
  /** Runs once, after at least this many milliseconds. Returns a function that cancels it. */
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

/** The longest delay of a Node timer. A caller with a longer delay checks the time and waits again. */
const maxTimerMs = 2 ** 31 - 1

/**
 * Follows the monotonic clock, and jumps forward whenever the wall clock is ahead of it. A clock that is set back thus does
 * not make results live longer, and one that is set forward, or a machine that slept, does not make them look younger.
 */
export function systemTime(
  wall: Clock = systemClock,
  monotonicMs: () => number = () => performance.now(),
): Timers {
  let ahead = Number.NEGATIVE_INFINITY
  return {
    wall,
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
  /** Advances the clock and runs the timers that are due on the way, each at its own time. */
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
  const cancel = (timer: (typeof timers)[number]) => {
    timers = timers.filter((other) => other !== timer)
  }
  return {
    wall: clock,
    now: () => clock.now(),
    after: (ms, run) => {
      const timer = { atMs: clock.now() + Math.max(0, ms), run }
      timers.push(timer)
      return () => cancel(timer)
    },
    advance: (ms) => {
      const endMs = clock.now() + ms
      for (let due = nextUntil(endMs); due; due = nextUntil(endMs)) {
        cancel(due)
        clock.advance(Math.max(0, due.atMs - clock.now()))
        due.run()
      }
      clock.advance(endMs - clock.now())
    },
  }
}
