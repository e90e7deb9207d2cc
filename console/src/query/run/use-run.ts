import { useCallback, useEffect, useRef, useState } from 'react'
import { ApiError } from '../../api/api.ts'
import type { CallResult } from '../../api/call-endpoint.ts'
import type { ParameterValues } from './use-parameter-values.ts'

export type Run =
  | { state: 'idle' }
  | { state: 'running'; before: CallResult | undefined }
  | { state: 'done'; result: CallResult }
  | { state: 'failed'; error: Error; before?: CallResult | undefined }

/** The result to show: that of the run, or of the one before while it is running. */
export function resultOf(run: Run): CallResult | undefined {
  return run.state === 'done' ? run.result : run.state === 'running' ? run.before : undefined
}

const settled = (result: CallResult | undefined): Run =>
  result ? { state: 'done', result } : { state: 'idle' }

interface RunOptions {
  /** What a run would ask for now. An error of something else is not shown. */
  asked: string
  /** Whether Ctrl or Cmd and Enter starts a run from anywhere on the page. */
  hasShortcut?: boolean
  /** Whether the first run starts by itself. */
  auto?: boolean
  /** A run from before, which is shown instead of starting one. */
  first?: Run | undefined
}

/**
 * Runs an endpoint, one run at a time: a new run or leaving the page aborts the last one. A run waits for values that are
 * being looked up, and is not sent while a required value is missing.
 */
export function useRun(
  call: (signal: AbortSignal) => Promise<CallResult>,
  { missing, isLooking, isTouched, keep }: Omit<ParameterValues, 'values' | 'change'>,
  { asked, hasShortcut = true, auto = false, first = { state: 'idle' } }: RunOptions,
) {
  const [run, setRun] = useState<Run>(first)
  const [request, setRequest] = useState<'none' | 'auto' | 'wanted' | 'refused'>('none')
  const hasBegun = useRef(first.state !== 'idle')
  const current = useRef<AbortController>(undefined)
  useEffect(() => () => current.current?.abort(), [])
  const begin = useCallback(() => setRequest('wanted'), [])
  const show = useCallback((shown: Run) => {
    current.current?.abort()
    setRun(shown)
  }, [])
  const send = async () => {
    current.current?.abort()
    current.current = new AbortController()
    const { signal } = current.current
    setRun((before) => ({ state: 'running', before: resultOf(before) }))
    try {
      const result = await call(signal)
      if (!signal.aborted) setRun({ state: 'done', result })
    } catch (error) {
      if (signal.aborted) return
      setRun((now) => ({ state: 'failed', error: error as Error, before: resultOf(now) }))
    }
  }
  const stop = () => {
    current.current?.abort()
    setRun((now) => (now.state === 'running' ? settled(now.before) : now))
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when something else is asked
  useEffect(() => {
    setRun((now) => (now.state === 'failed' ? settled(now.before) : now))
  }, [asked])
  const isMissing = missing.length > 0
  // Values that the user is typing are not complete.
  const isAuto = auto && !isTouched
  useEffect(() => {
    if (hasBegun.current || !isAuto) return
    hasBegun.current = true
    setRequest('auto')
  }, [isAuto])
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what the run waits for matters
  useEffect(() => {
    if (request !== 'wanted' && request !== 'auto') return
    if (request === 'auto' && !isAuto) setRequest('none')
    else if (!isMissing) {
      hasBegun.current = true
      setRequest('none')
      keep()
      send()
    } else if (!isLooking) setRequest(request === 'auto' ? 'none' : 'refused')
  }, [request, isAuto, isMissing, isLooking])
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
  const absent = request === 'refused' ? missing[0] : undefined
  return {
    run,
    begin,
    stop,
    /** Shows a result that came another way. */
    show,
    /** Whether the first run waits for values. */
    isStarting: request === 'auto',
    /** The parameter that is missing or was rejected, and why. */
    problem: absent === undefined ? rejectedParameter(run) : { parameter: absent, message: 'Required.' },
  }
}

function rejectedParameter(run: Run): { parameter: string; message: string } | undefined {
  const error = run.state === 'failed' && run.error instanceof ApiError ? run.error : undefined
  return error?.parameter === undefined ? undefined : { parameter: error.parameter, message: error.message }
}
