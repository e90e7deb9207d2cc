import { engineUnavailable, queryCancelled, queryTimeout } from '../base/errors.ts'
import type { Limits } from './engine.ts'

/** How long a call waits for an engine that is coming back. */
const waitForReadyMs = 2_000

/**
 * Waits a moment for an engine that is coming back, rather than fail a call that could be answered. Gives
 * the limits with what is left of the time.
 */
export async function whenReady(
  limits: Limits,
  wait: (withinMs: number, signal?: AbortSignal) => Promise<void>,
): Promise<Limits> {
  const since = performance.now()
  try {
    await wait(Math.min(limits.deadlineMs, waitForReadyMs), limits.signal)
  } catch (error) {
    if (limits.signal?.aborted) throw queryCancelled()
    throw engineUnavailable('The engine is not available at the moment.', error)
  }
  const deadlineMs = limits.deadlineMs - (performance.now() - since)
  if (deadlineMs <= 0) throw queryTimeout(limits.deadlineMs / 1000)
  return { ...limits, deadlineMs }
}
