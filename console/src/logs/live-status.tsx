import { count } from '../ui/format.ts'
import type { Live } from './use-live-entries.ts'

/** What a live view does at the moment, and what it could not show. */
export function LiveStatus({ tail, paused }: { tail: Live; paused: boolean }) {
  const { state, waiting, missed, hasGap } = tail
  const isOpen = state === 'open' && !paused
  return (
    <p className={`live${isOpen ? '' : ' still'}`} role="status">
      <span>
        <span className="dot" /> {textOf(tail, paused)}
      </span>
      {paused && waiting > 0 && <span className="badge">{count(waiting)} waiting</span>}
      {missed > 0 && <span className="badge warn">{count(missed)} were too many to show</span>}
      {hasGap && <span className="badge warn">Some may be missing</span>}
    </p>
  )
}

function textOf({ state }: Live, paused: boolean): string {
  if (state === 'failed') return 'Ended.'
  if (state === 'broken') return 'The connection broke. Connecting again …'
  if (paused) return 'Paused. What comes is shown when you go on.'
  return state === 'open' ? 'Entries appear here as they arrive.' : 'Connecting …'
}
