import { Icon } from '../../ui/icon.tsx'
import type { Run } from './use-run.ts'

/** Starts a run, or ends it while there is one. */
export function RunButton({ run, stop }: { run: Run; stop: () => void }) {
  if (run.state === 'running') {
    return (
      <button type="button" className="button small" onClick={stop}>
        Stop
      </button>
    )
  }
  return (
    <button type="submit" className="button primary small" aria-keyshortcuts="Control+Enter Meta+Enter">
      <Icon name="run" />
      Run <kbd>{/Mac/.test(navigator.platform) ? '⌘' : 'Ctrl'} ⏎</kbd>
    </button>
  )
}
