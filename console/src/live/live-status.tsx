import { count } from '../ui/text/format.ts'
import type { Live } from './use-live-entries.ts'

const texts = {
  connecting: 'Connecting …',
  open: 'New entries appear here as they arrive.',
  broken: 'Connection lost. Reconnecting …',
  failed: 'Stopped.',
}

export function LiveStatus({ tail, paused }: { tail: Live; paused: boolean }) {
  const { state, waiting, missed, hasGap } = tail
  const isPaused = paused && (state === 'open' || state === 'connecting')
  return (
    <p className={`live${state === 'open' && !paused ? '' : ' still'}`} role="status">
      <span>
        <span className="dot" /> {isPaused ? 'Paused. New entries are shown when you resume.' : texts[state]}
      </span>
      {waiting > 0 && <span className="badge">{count(waiting)} waiting</span>}
      {waiting > 0 && !paused && <span>Scroll to the top to see new entries.</span>}
      {missed > 0 && <span className="badge warn">{count(missed)} not shown: too many at once</span>}
      {hasGap && <span className="badge warn">Some entries may be missing</span>}
    </p>
  )
}
