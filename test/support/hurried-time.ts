import { type Clock, systemTime, type Timers } from '../../src/core/base/clock.ts'

/**
 * The time of the system, in which the seconds that a service lets pass before it follows up pass at once: before refused
 * sign-ins are stored together, or before an erasure looks again. Shorter intervals and longer deadlines stay as they are.
 */
export function hurriedTime(wall?: Clock): Timers {
  const time = systemTime(wall)
  return { ...time, after: (ms, run) => time.after(ms >= 3_000 && ms <= 5_000 ? 0 : ms, run) }
}
