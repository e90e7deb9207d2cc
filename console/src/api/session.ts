import { useSyncExternalStore } from 'react'

const key = 'wellhead.token'
const listeners = new Set<() => void>()
let why = ''

/** The token lives as long as the tab. */
export const session = {
  token: (): string | null => sessionStorage.getItem(key),
  /** Why the last session ended, if that was not the user's wish. */
  reason: (): string => why,
  open(token: string): void {
    why = ''
    sessionStorage.setItem(key, token)
    for (const tell of listeners) tell()
  },
  close(reason = ''): void {
    if (sessionStorage.getItem(key) === null) return
    why = reason
    sessionStorage.removeItem(key)
    for (const tell of listeners) tell()
  },
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function useToken(): string | null {
  return useSyncExternalStore(subscribe, session.token)
}
