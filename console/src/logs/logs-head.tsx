import { hasFeature } from '../api/features.ts'
import type { SavedSearch } from '../api/shapes.ts'
import { LiveStatus } from '../live/live-status.tsx'
import type { Live } from '../live/use-live-entries.ts'
import { Button } from '../ui/button.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { SavedSearches } from './search/saved-searches.tsx'

interface LogsHeadProps {
  /** Undefined where the view is not live. */
  tail: Live | undefined
  paused: boolean
  onPause: (paused: boolean) => void
  onLive: () => void
  onRefresh: () => void
  /** The search that can be saved; undefined where the token cannot. */
  current: Pick<SavedSearch, 'source' | 'query' | 'project' | 'range'> | undefined
}

export function LogsHead({ tail, paused, onPause, onLive, onRefresh, current }: LogsHeadProps) {
  const actions = (
    <>
      {current && <SavedSearches current={current} />}
      {tail && (
        <Button aria-pressed={paused} onClick={() => onPause(!paused)} icon={paused ? 'run' : 'pause'}>
          {paused ? 'Resume' : 'Pause'}
        </Button>
      )}
      {hasFeature('live') && (
        <button
          type="button"
          className={`button${tail ? ' primary' : ''}`}
          aria-pressed={!!tail}
          onClick={onLive}
        >
          {tail ? 'Live' : 'Follow live'}
        </button>
      )}
      {!tail && <Button onClick={onRefresh}>Refresh</Button>}
    </>
  )
  return (
    <PageHead title="Logs" actions={actions}>
      {tail ? <LiveStatus tail={tail} paused={paused} /> : <p>Entries of a source, newest first.</p>}
    </PageHead>
  )
}
