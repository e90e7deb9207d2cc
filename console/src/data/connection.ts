import { useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()
const lookEveryMs = 2_000
let offline = false
let timer: ReturnType<typeof setInterval> | undefined

function tell(): void {
  for (const listener of listeners) listener()
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
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function useOffline(): boolean {
  return useSyncExternalStore(subscribe, () => offline)
}
