import { useSyncExternalStore } from 'react'
import { watchable } from './watchable.ts'

const watched = watchable()
const probeEveryMs = 2_000
let offline = false
let timer: ReturnType<typeof setInterval> | undefined

function setOffline(next: boolean): void {
  if (offline === next) return
  offline = next
  clearInterval(timer)
  if (offline) timer = setInterval(() => fetch('/health').then(connection.found, () => {}), probeEveryMs)
  watched.changed()
}

/** Whether the service can be reached. While it cannot, it is probed. */
export const connection = {
  lost: (): void => setOffline(true),
  found: (): void => setOffline(false),
  /** Waits for `ms`, or until a service that could not be reached is back. */
  async pause(ms: number, signal?: AbortSignal): Promise<void> {
    const wasOffline = offline
    await new Promise<void>((resolve) => {
      const wait = setTimeout(done, ms)
      const stop = watched.subscribe(() => {
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

export const useOffline = (): boolean => useSyncExternalStore(watched.subscribe, () => offline)
