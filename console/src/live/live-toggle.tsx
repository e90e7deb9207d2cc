import { hasFeature } from '../api/features.ts'
import { Button } from '../ui/button.tsx'
import type { LiveState } from './use-live-result.ts'

const texts: Record<LiveState, string> = {
  off: '',
  connecting: 'Connecting …',
  open: 'Follows changes',
  broken: 'Connection lost. Reconnecting …',
}

/** Turns live results on and off. The dot shows the state of the connection; only a lost one is worth room for a text. */
export function LiveToggle({ live, onToggle }: { live: LiveState; onToggle: () => void }) {
  if (!hasFeature('live')) return null
  return (
    <span className={`live${live === 'open' ? '' : ' still'}`}>
      <span className={live === 'broken' ? 'faint' : 'hidden-text'} role="status">
        {texts[live]}
      </span>
      <Button look="small" aria-pressed={live !== 'off'} onClick={onToggle}>
        <span className="dot" /> Live
      </Button>
    </span>
  )
}
