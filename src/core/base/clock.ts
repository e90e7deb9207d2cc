import { queryTimeout } from './errors.ts'

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

const system = systemTime()

/**
 * Runs work with a signal that aborts with another one, or after a time. Nothing stays registered when the work ends.
 * `AbortSignal.any` would leave a dependent behind on a long-lived signal, and can lose its timeout to the garbage collector.
 */
export async function withDeadline<T>(
  ms: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
  time: Pick<Timers, 'after'> = system,
): Promise<T> {
  const limited = new AbortController()
  const follow = () => limited.abort(outer?.reason)
  if (outer?.aborted) follow()
  outer?.addEventListener('abort', follow, { once: true })
  const cancel = time.after(ms, () => limited.abort(new DOMException('The time is over.', 'TimeoutError')))
  try {
    return await work(limited.signal)
  } finally {
    cancel()
    outer?.removeEventListener('abort', follow)
  }
}

export type TimeLimit = ReturnType<typeof timeLimit>

/** A time limit that counts from now. */
export function timeLimit(ms: number) {
  const endsAt = performance.now() + ms
  return {
    ms,
    isOver: () => performance.now() >= endsAt,
    /** Throws if nothing is left. */
    leftMs: () => {
      const leftMs = endsAt - performance.now()
      if (leftMs <= 0) throw queryTimeout(ms / 1000)
      return leftMs
    },
  }
}
