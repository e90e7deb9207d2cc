import { useCallback, useEffect, useRef, useState } from 'react'
import { ApiError } from '../../api/api.ts'
import type { CallResult } from '../../api/call-endpoint.ts'

export type Run =
  | { state: 'idle' }
  | { state: 'running'; before: CallResult | undefined; since: number }
  | { state: 'done'; result: CallResult }
  | { state: 'failed'; error: Error }

/** One run at a time: a new one ends the one before it, and so does leaving the page. */
export function useRun(call: (signal: AbortSignal) => Promise<CallResult>) {
  const [run, setRun] = useState<Run>({ state: 'idle' })
  const current = useRef<AbortController>(undefined)
  const latest = useRef(call)
  latest.current = call
  useEffect(() => () => current.current?.abort(), [])
  const start = useCallback(async () => {
    current.current?.abort()
    const mine = new AbortController()
    current.current = mine
    setRun((before) => ({
      state: 'running',
      before:
        before.state === 'done' ? before.result : before.state === 'running' ? before.before : undefined,
      since: Date.now(),
    }))
    try {
      const result = await latest.current(mine.signal)
      if (!mine.signal.aborted) setRun({ state: 'done', result })
    } catch (error) {
      if (!mine.signal.aborted) setRun({ state: 'failed', error: error as Error })
    }
  }, [])
  const stop = useCallback(() => {
    current.current?.abort()
    setRun((now) =>
      now.state !== 'running' ? now : now.before ? { state: 'done', result: now.before } : { state: 'idle' },
    )
  }, [])
  return { run, start, stop }
}

/** The parameter that the service refused, and why. */
export function refusedParameter(run: Run): { parameter: string; message: string } | undefined {
  const error = run.state === 'failed' && run.error instanceof ApiError ? run.error : undefined
  return error?.parameter === undefined ? undefined : { parameter: error.parameter, message: error.message }
}
