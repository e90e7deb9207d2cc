import { useSyncExternalStore } from 'react'
import { watchable } from './watchable.ts'

const reasonKey = 'wellhead.ended'
/** Stored text of a user begins with this name. */
export const ownKeys = 'wellhead.playground.'
const watched = watchable()
let tabs: BroadcastChannel | undefined

/** Unknown until the service has responded: scripts cannot read the cookie. */
type State = 'unknown' | 'open' | 'none' | 'over'
let state: State = 'unknown'
/** Id of the token or person. */
let owner: string | undefined

function change(next: State): void {
  state = next
  watched.changed()
}

/** The session is a cookie. A page serves one caller: when the session ends, the page is loaded again and knows nothing. */
export const session = {
  state: (): State => state,
  /** Why the last session ended; empty if the user signed out. */
  endReason: (): string => sessionStorage.getItem(reasonKey) ?? '',
  /** The service has recognized the caller. */
  opened(id: string): void {
    if (state === 'open') return
    sessionStorage.removeItem(reasonKey)
    owner = id
    tabs?.postMessage({ opened: id })
    change('open')
  },
  /** The service did not accept the cookie, or there is none. */
  refused(reason: string): void {
    if (state === 'unknown') change('none')
    else if (state === 'open') forget(reason)
  },
  /** Signs out, also in other tabs. Leaves the page, whose address may name data. */
  async close(): Promise<void> {
    await fetch('/auth/logout', { method: 'POST' }).catch(() => {})
    tabs?.postMessage({ closed: true })
    forget('')
  },
  /** Notices that another tab signs out or in, and that the page comes back from the browser's memory. */
  watch(): void {
    tabs = new BroadcastChannel('wellhead.session')
    tabs.onmessage = ({ data }: MessageEvent<{ opened?: string; closed?: true }>) => {
      if (data.closed && state === 'open') forget('')
      else if (data.opened !== undefined && data.opened !== owner && state !== 'unknown') location.reload()
    }
    addEventListener('pageshow', ({ persisted }) => {
      if (persisted) location.reload()
    })
  },
}

function forget(reason: string): void {
  sessionStorage.setItem(reasonKey, reason)
  for (const name of Object.keys(localStorage)) if (name.startsWith(ownKeys)) localStorage.removeItem(name)
  change('over')
  // First, the page is emptied: one with unsaved changes would ask whether to leave it.
  setTimeout(() => (reason === '' ? location.replace('/') : location.reload()))
}

export const useSession = (): State => useSyncExternalStore(watched.subscribe, session.state)

/** Tokens of browser sessions are short-lived. */
export const isSession = (token: string): boolean => token.startsWith('whs_')
