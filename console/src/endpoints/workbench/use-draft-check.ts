import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { ApiError, api, OfflineError } from '../../api/api.ts'
import type { DraftCheck } from '../../api/shapes.ts'
import { markedProblem } from '../../query/editor/marked-problem.ts'
import { useSettled } from '../../query/use-settled.ts'
import type { EndpointDraft } from '../endpoint-draft.ts'

const pauseMs = 350

/** Checks the draft whenever the user pauses. */
export function useDraftCheck(draft: EndpointDraft) {
  const settled = useSettled(draft, pauseMs)
  const { query, parameters, sandbox } = settled
  const isBlank = query.trim() === ''
  const { data, error, isFetching } = useQuery({
    queryKey: ['check', query, parameters, sandbox],
    queryFn: ({ signal }) =>
      api<DraftCheck>('/api/endpoints/check', { body: { query, parameters, sandbox }, signal }),
    enabled: !isBlank,
    staleTime: 60_000,
    gcTime: 60_000,
    // The check goes on when the service is back.
    retry: (_failures, error) => error instanceof OfflineError,
    retryDelay: 2_000,
    placeholderData: (before) => before,
  })
  const problem = error instanceof ApiError && !isBlank ? error : undefined
  const marked = useMemo(() => problem && markedProblem(problem), [problem])
  return {
    checked: isBlank ? undefined : data,
    problem,
    /** The problem as the editor marks it. */
    marked,
    /** Whether the outcome belongs to an older text. */
    waiting: isFetching || settled !== draft,
  }
}
