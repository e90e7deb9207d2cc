import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { findValues } from '../api/entry-search.ts'
import { useSettled } from '../query/use-settled.ts'
import { NewColumn } from '../schema/column-dialogs.tsx'
import { Button } from '../ui/button.tsx'
import { SearchInput } from '../ui/search.tsx'
import { count as counted, percent, short } from '../ui/text/format.ts'
import { CountedNote } from './counted-note.tsx'
import {
  conditionOf,
  conditionsIn,
  excludedValue,
  withCondition,
  withoutCondition,
} from './search/conditions.ts'
import { type ShownFacet, valueName } from './source-fields.ts'
import type { EntrySearch } from './use-entries.ts'

interface FacetsProps {
  facets: readonly ShownFacet[] | undefined
  /** The counts have the entries since then; undefined: all. */
  sinceMs: number | undefined
  search: EntrySearch
  /** Whether columns can be created. */
  canSpeedUp: boolean
  /** Whether the counts belong to an earlier search. */
  isOld: boolean
  onQuery: (query: string) => void
  open: boolean
  onToggle: (open: boolean) => void
}

const maxShown = 6
const pauseMs = 250

/** Values of fields with their counts. Each can be included or excluded. */
export function Facets({ facets, sinceMs, search, canSpeedUp, isOld, onQuery, open, onToggle }: FacetsProps) {
  const [newColumn, setNewColumn] = useState<string>()
  return (
    <details
      className={`facets${isOld ? ' old' : ''}`}
      open={open}
      onToggle={({ currentTarget }) => onToggle(currentTarget.open)}
    >
      <summary>Fields</summary>
      <CountedNote sinceMs={sinceMs} />
      {facets?.length === 0 && <p className="faint">No values to count.</p>}
      {facets?.map((facet) => (
        <FacetValues
          key={facet.field}
          facet={facet}
          search={search}
          onQuery={onQuery}
          onSpeedUp={canSpeedUp && !facet.isTyped ? () => setNewColumn(facet.path) : undefined}
        />
      ))}
      {newColumn !== undefined && (
        <NewColumn source={search.source} path={newColumn} onClose={() => setNewColumn(undefined)} />
      )}
    </details>
  )
}

interface FacetValuesProps extends Pick<FacetsProps, 'search' | 'onQuery'> {
  facet: ShownFacet
  onSpeedUp: (() => void) | undefined
}

function FacetValues({ facet, search, onQuery, onSpeedUp }: FacetValuesProps) {
  const { field, sampled, sample, share, distinct } = facet
  const { query } = search
  const [all, setAll] = useState(false)
  const [text, setText] = useState('')
  const found = useFound(search, field, text)
  const conditions = conditionsIn(query) ?? []
  // No entry has them any more; they stay so that they can be included again.
  const excluded = conditions.flatMap((condition) => excludedValue(field, condition) ?? [])
  const others = excluded.filter((value) => facet.values.every((one) => one.value !== value))
  const values = found ?? [...others.map((value) => ({ value, count: 0 })), ...facet.values]
  const toggle = (condition: string, opposite: string) =>
    onQuery(
      conditions.includes(condition)
        ? withoutCondition(query, condition)
        : withCondition(withoutCondition(query, opposite), condition),
    )
  const notes = [share && `in ${share}`, sample && `of ${short(sample)} sampled`].filter(Boolean)
  return (
    <section aria-label={field}>
      <div className="facet-head">
        <h2>{field}</h2>
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
      </div>
      {notes.length > 0 && <p className="faint facet-note">{notes.join(', ')}</p>}
      {distinct === null && (
        <SearchInput
          label={`Search values of ${field}`}
          placeholder="Search values"
          value={text}
          onChange={setText}
        />
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
                title={`${value}: ${counted(count)} of ${counted(sampled)} entries`}
                onClick={() => toggle(include, exclude)}
              >
                <span>{valueName(field, value) || 'empty'}</span>{' '}
                <span className="number faint">
                  {/* Found values are counted in all entries. */}
                  {sample && !found ? percent(Math.min(1, count / sampled)) : short(count)}
                </span>
              </button>
              <button
                type="button"
                className="exclude"
                aria-label={`Exclude ${field} ${value}`}
                aria-pressed={conditions.includes(exclude)}
                title="Filter out this value"
                onClick={() => toggle(exclude, include)}
              >
                −
              </button>
            </li>
          )
        })}
      </ul>
      {found?.length === 0 && <p className="faint">No value contains it.</p>}
      {values.length > maxShown && (
        <Button look="link" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? 'Fewer' : `${values.length - maxShown} more`}
        </Button>
      )}
    </section>
  )
}

/** Values that contain the text; undefined without a text. */
function useFound(search: EntrySearch, field: string, text: string) {
  const wanted = useSettled(text.trim(), pauseMs)
  const { data } = useQuery({
    queryKey: ['values', search, field, wanted],
    queryFn: ({ signal }) => findValues(search, { path: field, search: wanted }, signal),
    enabled: wanted !== '',
    placeholderData: keepPreviousData,
  })
  return wanted === '' || text.trim() === '' ? undefined : data
}
