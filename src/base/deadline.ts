import { systemTime, type Timers } from './clock.ts'

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
