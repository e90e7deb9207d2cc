import type { Clock, Timers } from '../../src/core/base/clock.ts'

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
    // A wall clock has whole milliseconds, but a timer can be due in between.
    wall: { now: () => Math.floor(clock.now()) },
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
