interface Waiter {
  resolve: () => void
  reject: (error: unknown) => void
}

/** Those who wait for the engine. Each gives up after its own time, or when its caller does. */
export class Waiters {
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
      const onAbort = () => settle(() => reject(signal?.reason))
      const timer = setTimeout(
        () => settle(() => reject(new Error('The engine did not become ready in time.'))),
        withinMs,
      )
      const waiter: Waiter = {
        resolve: () => settle(resolve),
        reject: (error) => settle(() => reject(error)),
      }
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
