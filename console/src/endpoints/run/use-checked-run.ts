import { useEffect, useState } from 'react'
import type { ParameterValues } from './use-parameter-values.ts'

/**
 * Starts a run once its values are there: what is being looked for in the data is waited for, and what is missing then is
 * told instead of asking the service for it.
 */
export function useCheckedRun(
  { missing, isLooking, keep }: Pick<ParameterValues, 'missing' | 'isLooking' | 'keep'>,
  start: () => void,
) {
  const [state, setState] = useState<'idle' | 'wanted' | 'told'>('idle')
  const isMissing = missing.length > 0
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what stands in the way of the run matters
  useEffect(() => {
    if (state !== 'wanted') return
    if (!isMissing) {
      setState('idle')
      keep()
      start()
    } else if (!isLooking) setState('told')
  }, [state, isMissing, isLooking])
  const first = state === 'told' ? missing[0] : undefined
  return {
    begin: () => setState('wanted'),
    problem: first === undefined ? undefined : { parameter: first, message: 'This one is needed.' },
  }
}
