import { engineUnavailable, queryCancelled, queryTimeout } from '../base/errors.ts'
import type { Limits } from './engine.ts'

interface Waiter {
  resolve: () => void
  reject: (error: unknown) => void
}

/** Callers that wait until the engine is ready. Each has its own timeout and signal. */
export class ReadyWaiters {
  readonly #waiting = new Set<Waiter>()

  wait(withinMs: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason)
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
        this.#waiting.delete(waiter)
        act()
      }
      const waiter: Waiter = {
        resolve: () => settle(resolve),
        reject: (error) => settle(() => reject(error)),
      }
      const onAbort = () => waiter.reject(signal?.reason)
      const timer = setTimeout(
        () => waiter.reject(new Error('The engine did not become ready in time.')),
        withinMs,
      )
      signal?.addEventListener('abort', onAbort, { once: true })
      this.#waiting.add(waiter)
    })
  }

  resolve(): void {
    for (const waiter of [...this.#waiting]) waiter.resolve()
  }

  reject(error: Error): void {
    for (const waiter of [...this.#waiting]) waiter.reject(error)
  }
}

/** How long a statement waits for an engine that restarts. */
const waitForReadyMs = 2_000

/** Waits for an engine that restarts. Returns the limits with the time that is left. */
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
