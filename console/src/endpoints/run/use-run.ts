import { useCallback, useEffect, useRef, useState } from 'react'
import { ApiError } from '../../api/api.ts'
import type { CallResult } from '../../api/call-endpoint.ts'
import type { ParameterValues } from './use-parameter-values.ts'

export type Run =
  | { state: 'idle' }
  | { state: 'running'; before: CallResult | undefined }
  | { state: 'done'; result: CallResult }
  | { state: 'failed'; error: Error }

/** The result to show: that of the run, or of the one before while it is running. */
export function resultOf(run: Run): CallResult | undefined {
  return run.state === 'done' ? run.result : run.state === 'running' ? run.before : undefined
}

/**
 * Runs an endpoint, one run at a time: a new run or leaving the page aborts the last one. A run waits for values that are
 * being looked up, and is not sent while a required value is missing. Ctrl or Cmd and Enter starts it from anywhere on the
 * page.
 */
export function useRun(
  call: (signal: AbortSignal) => Promise<CallResult>,
  { missing, isLooking, keep }: Pick<ParameterValues, 'missing' | 'isLooking' | 'keep'>,
  hasShortcut = true,
) {
  const [run, setRun] = useState<Run>({ state: 'idle' })
  const [request, setRequest] = useState<'none' | 'wanted' | 'refused'>('none')
  const current = useRef<AbortController>(undefined)
  useEffect(() => () => current.current?.abort(), [])
  const begin = useCallback(() => setRequest('wanted'), [])
  const send = async () => {
    current.current?.abort()
    current.current = new AbortController()
    const { signal } = current.current
    setRun((before) => ({ state: 'running', before: resultOf(before) }))
    try {
      const result = await call(signal)
      if (!signal.aborted) setRun({ state: 'done', result })
    } catch (error) {
      if (!signal.aborted) setRun({ state: 'failed', error: error as Error })
    }
  }
  const stop = () => {
    current.current?.abort()
    setRun((now) => {
      const result = resultOf(now)
      if (now.state !== 'running') return now
      return result ? { state: 'done', result } : { state: 'idle' }
    })
  }
  const isMissing = missing.length > 0
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what the run waits for matters
  useEffect(() => {
    if (request !== 'wanted') return
    if (!isMissing) {
      setRequest('none')
      keep()
      send()
    } else if (!isLooking) setRequest('refused')
  }, [request, isMissing, isLooking])
  useEffect(() => {
    if (!hasShortcut) return
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return
      if (document.querySelector('dialog[open]')) return
      event.preventDefault()
      begin()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [hasShortcut, begin])
  const first = request === 'refused' ? missing[0] : undefined
  return {
    run,
    begin,
    stop,
    /** The parameter that is missing or was rejected, and why. */
    problem: first === undefined ? rejectedParameter(run) : { parameter: first, message: 'Required.' },
  }
}

function rejectedParameter(run: Run): { parameter: string; message: string } | undefined {
  const error = run.state === 'failed' && run.error instanceof ApiError ? run.error : undefined
  return error?.parameter === undefined ? undefined : { parameter: error.parameter, message: error.message }
}
