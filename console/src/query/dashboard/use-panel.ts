import { useCallback, useEffect, useState } from 'react'
import { callEndpoint } from '../../api/call-endpoint.ts'
import { followResult } from '../../api/follow-result.ts'
import type { Row } from '../../api/shapes.ts'

interface PanelState {
  /** Of the last result, also while another is loaded. */
  rows: readonly Row[] | undefined
  error: Error | undefined
  isLoading: boolean
  retry: () => void
}

interface PanelOptions {
  /** Undefined: nothing is loaded. */
  values: Record<string, string> | undefined
  /** `live`, or loaded again whenever the number changes. */
  tick: 'live' | number
  token: string | undefined
  onRefused?: ((error: Error) => void) | undefined
}

/** The rows of a panel. */
export function usePanel(endpoint: string, { values, tick, token, onRefused }: PanelOptions): PanelState {
  const [state, setState] = useState<Omit<PanelState, 'retry'>>({
    rows: undefined,
    error: undefined,
    isLoading: true,
  })
  const [attempt, setAttempt] = useState(0)
  const key = values && JSON.stringify(values)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the values
  useEffect(() => {
    if (key === undefined) return
    const ender = new AbortController()
    const { signal } = ender
    const report = (changes: Partial<PanelState>) => {
      if (!signal.aborted) setState((before) => ({ ...before, ...changes }))
    }
    const fail = (error: Error) => {
      if (signal.aborted) return
      report({ error, isLoading: false })
      onRefused?.(error)
    }
    const show = ({ rows }: { rows: Row[] }) => report({ rows, error: undefined, isLoading: false })
    report({ isLoading: true })
    const sent = JSON.parse(key) as Record<string, string>
    if (tick === 'live') {
      const events = {
        onOpen: () => {},
        onBroken: () => report({ isLoading: true }),
        onResult: show,
        onError: fail,
      }
      followResult(endpoint, sent, events, signal, token).catch(fail)
    } else callEndpoint(endpoint, sent, signal, token).then(show, fail)
    return () => ender.abort()
  }, [endpoint, key, tick, token, attempt])
  return { ...state, retry: useCallback(() => setAttempt((count) => count + 1), []) }
}
