import { type RefObject, useEffect, useState } from 'react'
import type { EntrySearch } from './use-entries.ts'

/** The end of the counted range, which advances while the view is live, but not while entries are being counted. */
export function useCountedTime(
  { fromMs, toMs, requestedMs }: EntrySearch,
  advances: boolean,
  isCounting: RefObject<boolean>,
): number {
  const [nowMs, setNowMs] = useState(requestedMs)
  // About a tenth of a bar.
  const everyMs = Math.min(10_000, Math.max(2_000, (toMs - fromMs) / 1_200))
  useEffect(() => {
    if (!advances) return
    setNowMs(Date.now())
    const timer = setInterval(() => {
      if (!isCounting.current) setNowMs(Date.now())
    }, everyMs)
    return () => clearInterval(timer)
  }, [advances, everyMs, isCounting])
  return Math.max(nowMs, requestedMs)
}
