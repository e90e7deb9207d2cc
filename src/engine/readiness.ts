import { EventEmitter, once } from 'node:events'
import { withDeadline } from '../base/deadline.ts'
import { engineUnavailable, isolationUnverified, queryCancelled, queryTimeout } from '../base/errors.ts'
import type { Engine, Limits } from './engine.ts'

/** Callers that wait until the engine is ready. Each has its own timeout and signal. */
export class ReadyWaiters {
  readonly #events = new EventEmitter().setMaxListeners(0)

  async wait(withinMs: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    await withDeadline(withinMs, signal, (limited) =>
      once(this.#events, 'ready', { signal: limited }).catch((error) => {
        signal?.throwIfAborted()
        throw limited.aborted ? new Error('The engine did not become ready in time.') : error
      }),
    )
  }

  resolve(): void {
    this.#events.emit('ready')
  }

  reject(error: Error): void {
    // Without a listener, the emitter would throw.
    if (this.#events.listenerCount('error') > 0) this.#events.emit('error', error)
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

/** Throws while a server shows tenants the rows of others. */
export function requireIsolation(engine: Pick<Engine, 'state'>): void {
  const { leak } = engine.state()
  if (leak !== undefined) throw isolationUnverified(leak)
}
