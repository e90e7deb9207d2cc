import { useSyncExternalStore } from 'react'
import { watchable } from './watchable.ts'

/** `starting`: it responds, but its engine does not yet. */
type Connection = 'up' | 'starting' | 'offline'

const watched = watchable()
const probeEveryMs = 2_000
let state: Connection = 'up'
let timer: ReturnType<typeof setInterval> | undefined

function set(next: Connection): void {
  if (state === next) return
  state = next
  clearInterval(timer)
  if (state !== 'up') timer = setInterval(probe, probeEveryMs)
  watched.changed()
}

async function probe(): Promise<void> {
  const ready = await fetch('/ready').then(
    ({ ok }) => ok,
    () => undefined,
  )
  set(ready === undefined ? 'offline' : ready ? 'up' : 'starting')
}

/** Whether the service can be reached and is ready. While it is not, it is probed. */
export const connection = {
  lost: (): void => set('offline'),
  found(): void {
    if (state === 'offline') set('up')
  },
  /** A request failed because of the engine. Whether others will, the service knows. */
  doubt: (): void => void probe(),
  isUp: (): boolean => state === 'up',
  /** Waits for `ms`, or until a service that could not be reached is back. */
  async pause(ms: number, signal?: AbortSignal): Promise<void> {
    const wasOffline = state === 'offline'
    await new Promise<void>((resolve) => {
      const wait = setTimeout(done, ms)
      const stop = watched.subscribe(() => {
        if (wasOffline && state !== 'offline') done()
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

export const useConnection = (): Connection => useSyncExternalStore(watched.subscribe, () => state)
