import type { Timers } from '../base/clock.ts'
import { type AlertResults, decideBy } from './alert-results.ts'
import type { SavedAlert } from './saved-alerts.ts'

const points = 48
const dayMs = 86_400_000
const withinMs = 10_000

/**
 * What the condition would have decided in the last day, oldest first. Null if the query does not depend on `@now`, so that
 * it has no past. Ends early if the engine is busy.
 */
export async function pastDecisions(
  results: AlertResults,
  alert: SavedAlert,
  time: Timers,
  signal: AbortSignal,
) {
  if (!results.endpointOf(alert)?.compiled.sql.includes('{now:')) return null
  const ended = AbortSignal.any([signal, AbortSignal.timeout(withinMs)])
  const endMs = time.wall.now()
  const decisions: { at: string; value: number | null; met: boolean }[] = []
  for (let point = 0; point < points && !ended.aborted; point++) {
    // From now back, so that a busy engine leaves out what is long ago.
    const atMs = endMs - (point * dayMs) / points
    try {
      const { value, met } = decideBy(alert, await results.readAt(alert, atMs, ended))
      decisions.unshift({ at: new Date(atMs).toISOString(), value, met })
    } catch (error) {
      if (!ended.aborted) throw error
    }
  }
  signal.throwIfAborted()
  return decisions
}
