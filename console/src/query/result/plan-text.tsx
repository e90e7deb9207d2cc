import type { QueryPlan } from '../../api/shapes.ts'
import { counted } from '../../ui/text/format.ts'

/** What the engine reads, and its plan. */
export function PlanText({ plan: { plan, reads } }: { plan: QueryPlan }) {
  return (
    <>
      <ul>
        {reads.map(({ table, rows, parts }) => (
          <li key={table}>
            Reads up to <b>{counted(rows, 'row')}</b> of <code>{table}</code> in {counted(parts, 'part')}.
          </li>
        ))}
        {reads.length === 0 && <li>Reads no source.</li>}
      </ul>
      <pre className="json-text" tabIndex={0} role="region" aria-label="Plan of the engine">
        {plan}
      </pre>
    </>
  )
}
