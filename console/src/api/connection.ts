import { useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()
const lookEveryMs = 2_000
let offline = false
let timer: ReturnType<typeof setInterval> | undefined

function tell(): void {
  for (const listener of [...listeners]) listener()
}

/** Whether the service can be reached. While it cannot, it is asked again and again. */
export const connection = {
  lost(): void {
    if (offline) return
    offline = true
    timer = setInterval(() => {
      fetch('/health').then(connection.found, () => {})
    }, lookEveryMs)
    tell()
  },
  found(): void {
    if (!offline) return
    offline = false
    clearInterval(timer)
    tell()
  },
  /** Waits until the service can be reached, or for as long as was said; only so long where it can be reached already. */
  async pause(ms: number, signal?: AbortSignal): Promise<void> {
    const wasOffline = offline
    await new Promise<void>((resolve) => {
      const wait = setTimeout(done, ms)
      const stop = subscribe(() => {
        if (wasOffline && !offline) done()
      })
      signal?.addEventListener('abort', done)
      if (signal?.aborted) done()
      function done(): void {
        clearTimeout(wait)
        stop()
        signal?.removeEventListener('abort', done)
        resolve()
      }
    })
  },
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function useOffline(): boolean {
  return useSyncExternalStore(subscribe, () => offline)
}
