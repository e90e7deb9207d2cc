import { useEffect, useState } from 'react'
import { ApiError, api } from '../api/api.ts'
import { type CallResult, callEndpoint } from '../api/call-endpoint.ts'
import { hasFeature } from '../api/features.ts'
import { followResult } from '../api/follow-result.ts'
import type { CallableEndpoint, Whoami } from '../api/shapes.ts'
import type { EmbedAddress } from './embed-address.ts'
import { requestToken } from './embed-token.ts'

export interface Embedded {
  state: 'no token' | 'connecting' | 'open' | 'loaded' | 'broken' | 'expired' | 'refused' | 'failed'
  /** What the token can see of the endpoint. */
  endpoint?: CallableEndpoint
  result?: CallResult
  error?: Error | undefined
}

/**
 * Follows the result of the endpoint, or loads it once if the service has no live results. The last result stays while a new
 * token is awaited.
 */
export function useEmbedded({ name, values }: EmbedAddress, token: string | null): Embedded {
  const [embedded, setEmbedded] = useState<Embedded>({ state: 'connecting' })
  useEffect(() => {
    const report = (changes: Partial<Embedded>) => setEmbedded((now) => ({ ...now, ...changes }))
    if (token === null) {
      report({ state: 'no token' })
      requestToken()
      return
    }
    const ender = new AbortController()
    const { signal } = ender
    const fail = (error: Error) => {
      if (signal.aborted) return
      const state = stateOf(error)
      report({ state, error })
      if (state === 'expired') requestToken()
    }
    // A stream ends when its endpoint changes, so every connection describes it again.
    const describe = async () => {
      const { endpoints } = await api<Whoami>('/api/whoami', { token, signal })
      const endpoint = endpoints.find((one) => one.name === name || one.id === name)
      if (endpoint) report({ endpoint })
    }
    // The token may be another customer's.
    setEmbedded({ state: 'connecting' })
    if (!hasFeature('live')) {
      Promise.all([callEndpoint(name, values, signal, token), describe()])
        .then(([result]) => report({ state: 'loaded', result }))
        .catch(fail)
      return () => ender.abort()
    }
    followResult(
      name,
      values,
      {
        onOpen: () => {
          report({ state: 'open' })
          describe().catch((error: Error) => error instanceof ApiError && fail(error))
        },
        onBroken: () => report({ state: 'broken' }),
        onResult: (result) => report({ result, error: undefined }),
        onError: (error) => report({ error }),
      },
      signal,
      token,
    ).catch(fail)
    return () => ender.abort()
  }, [name, values, token])
  return embedded
}

function stateOf(error: Error): Embedded['state'] {
  const status = error instanceof ApiError ? error.status : undefined
  if (status === 401) return 'expired'
  return status === 403 || status === 404 ? 'refused' : 'failed'
}
