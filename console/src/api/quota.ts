import { useSyncExternalStore } from 'react'
import { watchable } from './watchable.ts'

const watched = watchable()
let remaining: number | undefined

/** Requests that the token has left in the current minute, as the last response said. */
export const quota = {
  note(headers: Headers): void {
    const text = headers.get('X-RateLimit-Remaining')
    const next = text === null ? undefined : Number(text)
    if (next === remaining) return
    remaining = next
    watched.changed()
  },
}

export const useQuotaRemaining = (): number | undefined =>
  useSyncExternalStore(watched.subscribe, () => remaining)
