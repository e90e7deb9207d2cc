import { useQuery } from '@tanstack/react-query'
import { queries } from '../api/queries.ts'
import type { Alert } from '../api/shapes.ts'

const tones = { ok: 'good', pending: 'warn', firing: 'bad', failing: 'warn' } as const

export function StateBadge({ alert: { state, enabled } }: { alert: Pick<Alert, 'state' | 'enabled'> }) {
  return enabled ? (
    <span className={`badge ${tones[state]}`}>{state}</span>
  ) : (
    <span className="badge">disabled</span>
  )
}

export const isMuted = ({ muted_until }: Pick<Alert, 'muted_until'>): boolean =>
  muted_until !== null && Date.parse(muted_until) > Date.now()

/** How many alerts fire or fail, beside the link to their page. */
export function FiringBadge() {
  const { data = [] } = useQuery(queries.alerts())
  const firing = data.filter(({ state }) => state === 'firing' || state === 'failing').length
  if (firing === 0) return null
  return (
    <span className="badge bad" title="Alerts that fire or cannot be evaluated">
      {firing}
    </span>
  )
}
