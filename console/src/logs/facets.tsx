import { useState } from 'react'
import { NewColumn } from '../schema/column-dialogs.tsx'
import { Button } from '../ui/button.tsx'
import { count as counted, percent, short } from '../ui/format.ts'
import {
  conditionOf,
  conditionsIn,
  excludedValue,
  withCondition,
  withoutCondition,
} from './search/conditions.ts'
import type { ShownFacet } from './source-fields.ts'

interface FacetsProps {
  facets: readonly ShownFacet[] | undefined
  /** Where columns can be created; undefined where the token cannot. */
  source: string | undefined
  /** Whether the counts belong to an earlier search. */
  isOld: boolean
  query: string
  onQuery: (query: string) => void
  open: boolean
  onToggle: (open: boolean) => void
}

const maxShown = 6

/** Values of fields with their counts. Each can be included or excluded. */
export function Facets({ facets, source, isOld, query, onQuery, open, onToggle }: FacetsProps) {
  const [newColumn, setNewColumn] = useState<string>()
  return (
    <details
      className={`facets${isOld ? ' old' : ''}`}
      open={open}
      onToggle={({ currentTarget }) => onToggle(currentTarget.open)}
    >
      <summary>Fields</summary>
      {facets?.length === 0 && <p className="faint">No values to count.</p>}
      {facets?.map((facet) => (
        <FacetValues
          key={facet.field}
          facet={facet}
          query={query}
          onQuery={onQuery}
          // The path of a column has no dots inside of its keys.
          onSpeedUp={
            source && facet.detected && !facet.path.includes('%') ? () => setNewColumn(facet.path) : undefined
          }
        />
      ))}
      {source && newColumn !== undefined && (
        <NewColumn source={source} path={newColumn} onClose={() => setNewColumn(undefined)} />
      )}
    </details>
  )
}

interface FacetValuesProps extends Pick<FacetsProps, 'query' | 'onQuery'> {
  facet: ShownFacet
  onSpeedUp: (() => void) | undefined
}

function FacetValues({ facet, query, onQuery, onSpeedUp }: FacetValuesProps) {
  const { field, detected } = facet
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
      {detected && (
        <p className="faint facet-note">
          in {detected.share}
          {onSpeedUp && (
            <Button
              look="link"
              aria-label={`Speed up ${field}`}
              title="Create a typed column: searches of this field get faster, and all entries are counted."
              onClick={onSpeedUp}
            >
              Speed up
            </Button>
          )}
        </p>
      )}
      <ul>
        {(all ? values : values.slice(0, maxShown)).map(({ value, count }) => {
          const [include, exclude] = [conditionOf(field, value), conditionOf(field, value, true)]
          return (
            <li key={value}>
              <button
                type="button"
                className="include"
                aria-pressed={conditions.includes(include)}
                title={
                  detected
                    ? `In ${counted(count)} of the newest ${counted(detected.sampled)} entries`
                    : `Include ${value}`
                }
                onClick={() => toggle(include, exclude)}
              >
                <span>{value === '' ? 'empty' : value}</span>{' '}
                <span className="number faint">
                  {detected ? percent(count / Math.max(1, detected.sampled)) : short(count)}
                </span>
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
        <Button look="link" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? 'Fewer' : `${values.length - maxShown} more`}
        </Button>
      )}
    </section>
  )
}
