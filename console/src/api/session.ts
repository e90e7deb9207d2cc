import { useSyncExternalStore } from 'react'
import { watchable } from './watchable.ts'

const key = 'wellhead.token'
const watched = watchable()
let endReason = ''

/** The token lives as long as the tab. */
export const session = {
  token: (): string | null => sessionStorage.getItem(key),
  /** Why the last session ended; empty if the user signed out. */
  endReason: (): string => endReason,
  open(token: string): void {
    endReason = ''
    sessionStorage.setItem(key, token)
    watched.changed()
  },
  close(reason = ''): void {
    if (session.token() === null) return
    endReason = reason
    sessionStorage.removeItem(key)
    watched.changed()
  },
}

export const useToken = (): string | null => useSyncExternalStore(watched.subscribe, session.token)

/** Tokens of browser sessions are short-lived. */
export const isSession = (token: string): boolean => token.startsWith('whs_')
