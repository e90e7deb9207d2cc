import { useState } from 'react'
import type { Facet } from '../api/shapes.ts'
import { short } from '../ui/format.ts'
import {
  conditionOf,
  conditionsIn,
  excludedValue,
  withCondition,
  withoutCondition,
} from './search/conditions.ts'
import { facetsInOrder } from './source-fields.ts'

interface FacetsProps {
  facets: readonly Facet[] | undefined
  /** Whether the counts belong to an earlier search. */
  isOld: boolean
  query: string
  onQuery: (query: string) => void
  open: boolean
  onToggle: (open: boolean) => void
}

const maxShown = 6

/** Values of the typed columns with their counts. Each can be included or excluded. */
export function Facets({ facets, isOld, query, onQuery, open, onToggle }: FacetsProps) {
  return (
    <details
      className={`facets${isOld ? ' old' : ''}`}
      open={open}
      onToggle={({ currentTarget }) => onToggle(currentTarget.open)}
    >
      <summary>Fields</summary>
      {facets?.length === 0 && <p className="faint">No typed column of this source has few values here.</p>}
      {facets &&
        facetsInOrder(facets).map((facet) => (
          <FacetValues key={facet.column} facet={facet} query={query} onQuery={onQuery} />
        ))}
    </details>
  )
}

function FacetValues({ facet, query, onQuery }: { facet: Facet } & Pick<FacetsProps, 'query' | 'onQuery'>) {
  const { column: field } = facet
  const [all, setAll] = useState(false)
  const conditions = conditionsIn(query) ?? []
  // No entry has them any more; they stay so that they can be included again.
  const excluded = conditions.flatMap((condition) => excludedValue(field, condition) ?? [])
  const others = excluded.filter((value) => facet.values.every((one) => one.value !== value))
  const values = [...others.map((value) => ({ value, count: 0 })), ...facet.values]
  const toggle = (condition: string, opposite: string) =>
    onQuery(
      conditions.includes(condition)
        ? withoutCondition(query, condition)
        : withCondition(withoutCondition(query, opposite), condition),
    )
  return (
    <section aria-label={field}>
      <h2>{field}</h2>
      <ul>
        {(all ? values : values.slice(0, maxShown)).map(({ value, count }) => {
          const [include, exclude] = [conditionOf(field, value), conditionOf(field, value, true)]
          return (
            <li key={value}>
              <button
                type="button"
                className="include"
                aria-pressed={conditions.includes(include)}
                title={`Include ${value}`}
                onClick={() => toggle(include, exclude)}
              >
                <span>{value === '' ? 'empty' : value}</span>{' '}
                <span className="number faint">{short(count)}</span>
              </button>
              <button
                type="button"
                className="exclude"
                aria-label={`Exclude ${field} ${value}`}
                aria-pressed={conditions.includes(exclude)}
                title="Exclude this value"
                onClick={() => toggle(exclude, include)}
              >
                −
              </button>
            </li>
          )
        })}
      </ul>
      {values.length > maxShown && (
        <button type="button" className="link" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? 'Fewer' : `${values.length - maxShown} more`}
        </button>
      )}
    </section>
  )
}
