import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { api, at } from '../../api/api.ts'
import type { Facet, LogSource, ValueCount } from '../../api/shapes.ts'
import { useSettled } from '../../query/use-settled.ts'
import { short } from '../../ui/text/format.ts'
import { fieldsOf } from '../source-fields.ts'
import { writtenField, writtenValue } from './conditions.ts'
import { matching, type TypedPart, withStatusGroups } from './typed-part.ts'

export interface Suggestion {
  label: string
  note: string
  /** What replaces the typed part. */
  text: string
}

/** What the suggestions are taken from. */
export interface SearchScope {
  source: LogSource
  project: string | undefined
  fromMs: number
  /** Fields without a typed column. */
  detected: readonly Facet[]
}

const maxShown = 10
const maxValues = 100
const pauseMs = 200
/** Their values differ from entry to entry. */
const uniqueFields = ['id', 'message', 'event_message']

/** Fields of the source, or values of the field, that match what is typed. */
export function useSuggestions(scope: SearchScope, part: TypedPart | undefined): Suggestion[] {
  const { source, detected } = scope
  const isField = part !== undefined && part.field === undefined && part.text !== ''
  const values = useFieldValues(scope, part)
  const fields = useMemo(() => fieldsOf(source.columns, detected), [source, detected])
  return useMemo(() => {
    if (part === undefined) return []
    if (part.field === undefined) {
      const found = isField ? matching(fields, part.text, ({ name }) => name) : fields
      return found
        .slice(0, maxShown)
        .map(({ name, note }) => ({ label: name, note, text: `${writtenField(name)}:` }))
    }
    const found = matching(withStatusGroups(part.field, values), part.text, ({ value }) => value)
    return found
      .slice(0, maxShown)
      .map(({ value, count }) => ({ label: value, note: short(count), text: `${writtenValue(value)} ` }))
  }, [part, isField, fields, values])
}

/** The most frequent values of the field. If there are many, those that begin with the text. */
function useFieldValues(scope: SearchScope, part: TypedPart | undefined): ValueCount[] {
  const field = part?.field === '' || uniqueFields.includes(part?.field ?? '') ? undefined : part?.field
  const text = useSettled(part?.text ?? '', pauseMs)
  const frequent = useValues(scope, field, undefined)
  const isMore = frequent.length === maxValues && text !== '' && writtenValue(text) === text
  const beginning = useValues(scope, isMore ? field : undefined, text)
  return isMore && beginning.length > 0 ? beginning : frequent
}

function useValues(scope: SearchScope, field: string | undefined, begin: string | undefined): ValueCount[] {
  const { source, project, fromMs } = scope
  const { data = [] } = useQuery({
    queryKey: ['values', source.name, project, field, begin, Math.floor(fromMs / 60_000)],
    queryFn: ({ signal }) => {
      const query = begin && `${writtenField(field as string)}:${begin}*`
      const body = { path: field, project, from: new Date(fromMs).toISOString(), limit: maxValues, query }
      return api<ValueCount[]>(`/api/sources/${at(source.name)}/values`, { body, signal })
    },
    enabled: field !== undefined,
    ...(begin !== undefined && { placeholderData: keepPreviousData }),
    staleTime: 60_000,
    // A field that does not exist has no suggestions.
    retry: false,
  })
  return data
}
