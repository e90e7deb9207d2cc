import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { ApiError, api } from '../api/api.ts'
import type { Column } from '../api/api-types.ts'
import type { EndpointDraft } from './endpoint-draft.ts'

interface Checked {
  columns: Column[]
  parameters: string[]
}

export interface DraftCheck {
  checked: Checked | undefined
  problem: ApiError | undefined
  /** Whether the answer is that of an older text. */
  waiting: boolean
}

const pauseMs = 350

/** Has the service look at the text whenever the writer pauses. */
export function useDraftCheck(draft: EndpointDraft, enabled: boolean): DraftCheck {
  const settled = useSettled(draft, pauseMs)
  const { query, parameters, sandbox } = settled
  const { data, error, isFetching } = useQuery({
    queryKey: ['check', query, parameters, sandbox],
    queryFn: ({ signal }) =>
      api<Checked>('/api/endpoints/check', { body: { query, parameters, sandbox }, signal }),
    enabled: enabled && query.trim() !== '',
    staleTime: 60_000,
    gcTime: 60_000,
    retry: false,
    placeholderData: (before) => before,
  })
  return {
    checked: data,
    problem: error instanceof ApiError ? error : undefined,
    waiting: isFetching || settled !== draft,
  }
}

function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return settled
}
