import { useEffect, useState } from 'react'
import { followResult } from '../api/follow-result.ts'
import type { ParameterValues } from '../query/run/use-parameter-values.ts'
import type { Run } from '../query/run/use-run.ts'

export type LiveState = 'off' | 'connecting' | 'open' | 'broken'

/**
 * Follows the result of an endpoint. Other values, or an endpoint that cannot be followed (undefined), turn it off. A hidden
 * page disconnects until it is visible again.
 */
export function useLiveResult(
  name: string | undefined,
  { values, missing, keep }: Pick<ParameterValues, 'values' | 'missing' | 'keep'>,
  /** Shows a result. */
  show: (run: Run) => void,
  /** Runs the query once, which reports a value that is missing. */
  begin: () => void,
) {
  const key = name === undefined ? undefined : JSON.stringify([name, values])
  const [followed, setFollowed] = useState<string>()
  const [state, setState] = useState<Exclude<LiveState, 'off'>>('connecting')
  const isVisible = useVisible()
  const isOn = followed !== undefined && followed === key
  useEffect(() => {
    if (!isOn) setFollowed(undefined)
  }, [isOn])
  useEffect(() => {
    if (!isOn || !isVisible) return
    const ender = new AbortController()
    const [name, values] = JSON.parse(followed) as [string, Record<string, string>]
    setState('connecting')
    followResult(
      name,
      values,
      {
        onOpen: () => setState('open'),
        onBroken: () => setState('broken'),
        onResult: (result) => show({ state: 'done', result }),
        onError: (error) => show({ state: 'failed', error }),
      },
      ender.signal,
    ).catch((error: Error) => {
      if (ender.signal.aborted) return
      setFollowed(undefined)
      show({ state: 'failed', error })
    })
    return () => ender.abort()
  }, [isOn, followed, isVisible, show])
  return {
    live: isOn ? state : 'off',
    stop: () => setFollowed(undefined),
    toggle: () => {
      if (isOn) return setFollowed(undefined)
      if (missing.length > 0) return begin()
      keep()
      setFollowed(key)
    },
  } as const
}

function useVisible(): boolean {
  const [isVisible, setVisible] = useState(!document.hidden)
  useEffect(() => {
    const look = () => setVisible(!document.hidden)
    document.addEventListener('visibilitychange', look)
    return () => document.removeEventListener('visibilitychange', look)
  }, [])
  return isVisible
}
