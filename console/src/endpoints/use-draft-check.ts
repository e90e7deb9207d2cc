import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { ApiError, api, OfflineError } from '../api/api.ts'
import type { DraftCheck } from '../api/shapes.ts'
import type { EndpointDraft } from './endpoint-draft.ts'
import { parametersIn } from './run/sql-parameters.ts'

const pauseMs = 350

/** Checks the draft whenever the user pauses. */
export function useDraftCheck(draft: EndpointDraft, enabled: boolean) {
  const settled = useSettled(draft, pauseMs)
  const { query, parameters, sandbox } = settled
  const { data, error, isFetching } = useQuery({
    queryKey: ['check', query, parameters, sandbox],
    queryFn: ({ signal }) =>
      api<DraftCheck>('/api/endpoints/check', { body: { query, parameters, sandbox }, signal }),
    enabled: enabled && query.trim() !== '',
    staleTime: 60_000,
    gcTime: 60_000,
    // The check goes on when the service is back.
    retry: (_failures, error) => error instanceof OfflineError,
    retryDelay: 2_000,
    placeholderData: (before) => before,
  })
  const problem = error instanceof ApiError ? error : undefined
  const marked = useMemo(
    () =>
      problem?.line === undefined
        ? undefined
        : { message: problem.message, line: problem.line, column: problem.column ?? 1 },
    [problem],
  )
  const used = useMemo(() => parametersIn(query), [query])
  return {
    checked: data,
    /** Parameters that the SQL names. */
    used,
    problem,
    /** The problem as the editor marks it. */
    marked,
    /** Whether the outcome belongs to an older text. */
    waiting: isFetching || settled !== draft,
  }
}

/** The value, once it has not changed for a while. */
export function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return settled
}
