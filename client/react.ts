import { useCallback, useEffect, useState } from 'react'
import type { CallArguments, Client, EndpointName, Parameters, Rows, WellheadError } from './client.ts'

export interface EndpointState<Of> {
  /** Undefined until the first ones arrive. They stay while those of other parameters are loaded. */
  rows: Of | undefined
  error: WellheadError | undefined
  isLoading: boolean
}

/** The rows of an endpoint. Loads them again when the name or the parameters change; nothing is loaded on a server. */
export function useEndpoint<Name extends EndpointName>(
  client: Client,
  name: Name,
  parameters: Parameters<Name>,
): EndpointState<Rows<Name>> & { reload: () => void } {
  const [state, report] = useEndpointState(client, name)
  const [loads, setLoads] = useState(0)
  const key = JSON.stringify(parameters)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the parameters
  useEffect(() => {
    const ender = new AbortController()
    report({ isLoading: true })
    const rest = [JSON.parse(key), { signal: ender.signal }] as const
    client.call(name, ...(rest as unknown as CallArguments<Name>)).then(
      (rows) => !ender.signal.aborted && report({ rows, error: undefined, isLoading: false }),
      (error) => !ender.signal.aborted && report({ error, isLoading: false }),
    )
    return () => ender.abort()
  }, [client, name, key, loads])
  const reload = useCallback(() => setLoads((count) => count + 1), [])
  return { ...state, reload }
}

/** The rows of an endpoint, as they change. */
export function useLiveEndpoint<Name extends EndpointName>(
  client: Client,
  name: Name,
  parameters: Parameters<Name>,
): EndpointState<Rows<Name>> {
  const [state, report] = useEndpointState(client, name)
  const key = JSON.stringify(parameters)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the parameters
  useEffect(() => {
    report({ isLoading: true })
    return client.follow(
      name,
      JSON.parse(key),
      (rows) => report({ rows, error: undefined, isLoading: false }),
      { onError: (error) => report({ error, isLoading: false }) },
    )
  }, [client, name, key])
  return state
}

/** Rows stay while the parameters change, but not those of another endpoint or client. */
function useEndpointState<Name extends EndpointName>(client: Client, name: Name) {
  type State = EndpointState<Rows<Name>>
  const none = { client, name, shown: { rows: undefined, error: undefined, isLoading: true } as State }
  const [held, setHeld] = useState(none)
  const own = (state: typeof none) => (state.client === client && state.name === name ? state : none).shown
  // biome-ignore lint/correctness/useExhaustiveDependencies: what it uses depends on these two
  const report = useCallback(
    (changes: Partial<State>) =>
      setHeld((before) => ({ client, name, shown: { ...own(before), ...changes } })),
    [client, name],
  )
  return [own(held), report] as const
}
