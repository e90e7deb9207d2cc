import { useSyncExternalStore } from 'react'
import { watchable } from './watchable.ts'

const key = 'wellhead.token'
const reasonKey = 'wellhead.ended'
/** Stored text of a user begins with this name. */
export const ownKeys = 'wellhead.playground.'
const watched = watchable()
/** Undefined until it is read: a frame of another site may not be allowed to read it, and does not need to. */
let current: string | null | undefined
let tabs: BroadcastChannel | undefined

/** The token lives as long as the tab. A page serves one token: when it ends, the page is loaded again and knows nothing. */
export const session = {
  /** Null before signing in, empty after signing out. */
  token(): string | null {
    if (current === undefined) current = sessionStorage.getItem(key)
    return current
  },
  /** Why the last session ended; empty if the user signed out. */
  endReason: (): string => sessionStorage.getItem(reasonKey) ?? '',
  open(token: string): void {
    sessionStorage.setItem(key, token)
    sessionStorage.removeItem(reasonKey)
    current = token
    watched.changed()
  },
  /** Signs out, also in other tabs with this token. Without a reason, leaves the page, whose address may name data. */
  close(reason = ''): void {
    if (sessionStorage.getItem(key) === null) return
    tabs?.postMessage(current)
    forget(reason)
  },
  /** Notices that another tab signs out, and that the page comes back from the browser's memory after this tab did. */
  watch(): void {
    tabs = new BroadcastChannel('wellhead.session')
    tabs.onmessage = ({ data }) => {
      if (data === session.token()) forget('')
    }
    addEventListener('pageshow', () => {
      if (sessionStorage.getItem(key) !== session.token()) location.reload()
    })
  },
}

function forget(reason: string): void {
  sessionStorage.removeItem(key)
  sessionStorage.setItem(reasonKey, reason)
  for (const name of Object.keys(localStorage)) if (name.startsWith(ownKeys)) localStorage.removeItem(name)
  current = ''
  watched.changed()
  // First, the page is emptied: one with unsaved changes would ask whether to leave it.
  setTimeout(() => (reason === '' ? location.replace('/') : location.reload()))
}

export const useToken = (): string | null => useSyncExternalStore(watched.subscribe, session.token)

/** Tokens of browser sessions are short-lived. */
export const isSession = (token: string): boolean => token.startsWith('whs_')
