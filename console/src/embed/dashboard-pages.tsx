import { useCallback, useEffect, useState } from 'react'
import { ApiError, api, at } from '../api/api.ts'
import type { Dashboard, OpenedLink, Whoami } from '../api/shapes.ts'
import { DashboardView } from '../query/dashboard/dashboard-view.tsx'
import { useBrand } from '../ui/brand/brand.ts'
import { Boundary, Waiting } from '../ui/states.tsx'
import { requestToken, tellParent, watchParameters, watchTokens } from './embed-token.ts'

/** A dashboard in a frame of another page, which passes the token. */
export function EmbeddedDashboard(props: { name: string; hasTitle: boolean; first: string | null }) {
  const { name, hasTitle, first } = props
  const [token, setToken] = useState(first)
  useEffect(() => watchTokens(setToken), [])
  useEffect(() => {
    if (token === null) requestToken()
  }, [token])
  const expired = useCallback((error: Error) => {
    if (error instanceof ApiError && error.status === 401) requestToken()
  }, [])
  if (token === null) return <Notice>Waiting for permission to show this dashboard.</Notice>
  return <Loaded key={token} name={name} token={token} hasTitle={hasTitle} onRefused={expired} />
}

const renewMs = 60_000

/** A dashboard that a link opens. The address is the secret, and the page renews its session with it. */
export function SharedDashboard({ secret }: { secret: string }) {
  const [link, setLink] = useState<OpenedLink>()
  const [error, setError] = useState<Error>()
  const [attempt, setAttempt] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt opens the link again
  useEffect(() => {
    const ender = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const open = () =>
      api<OpenedLink>(`/shared/${at(secret)}/session`, {
        method: 'POST',
        signal: ender.signal,
        token: '',
      }).then(
        (opened) => {
          setLink(opened)
          setError(undefined)
          const inMs = Date.parse(opened.expires_at) - Date.now() - renewMs
          timer = setTimeout(open, Math.max(renewMs, inMs))
        },
        (failure: Error) => !ender.signal.aborted && setError(failure),
      )
    void open()
    return () => {
      ender.abort()
      clearTimeout(timer)
    }
  }, [secret, attempt])
  const refused = useCallback((failure: Error) => {
    if (failure instanceof ApiError && failure.status === 401) setAttempt((count) => count + 1)
  }, [])
  if (error) {
    const isGone = error instanceof ApiError && error.status === 404
    return (
      <Notice>
        {isGone
          ? 'This link does not work anymore. Ask the person who sent it for a new one.'
          : error.message}
      </Notice>
    )
  }
  if (!link) return <Waiting what="the dashboard" height={320} />
  const fixed = { ...link.parameters, ...(link.project !== null && { project: link.project }) }
  return <Loaded name={link.dashboard} token={link.token} fixed={fixed} hasTitle onRefused={refused} />
}

interface LoadedProps {
  name: string
  token: string
  hasTitle: boolean
  /** Undefined: as the token says. */
  fixed?: Record<string, string>
  onRefused: (error: Error) => void
}

function Loaded({ name, token, hasTitle, fixed: given, onRefused }: LoadedProps) {
  const brand = useBrand()
  const [dashboard, setDashboard] = useState<Dashboard>()
  const [own, setOwn] = useState<Record<string, string>>()
  const [error, setError] = useState<Error>()
  const [address, change] = useOwnAddress()
  useEffect(() => {
    const ender = new AbortController()
    const { signal } = ender
    const fail = (failure: Error) => {
      if (signal.aborted) return
      setError(failure)
      onRefused(failure)
    }
    api<Dashboard>(`/api/dashboards/${at(name)}`, { token, signal }).then((read) => {
      setDashboard(read)
      setError(undefined)
    }, fail)
    api<Whoami>('/api/whoami', { token, signal }).then(({ parameters }) => setOwn(parameters), fail)
    return () => ender.abort()
  }, [name, token, onRefused])
  const title = dashboard?.title || dashboard?.name || ''
  useEffect(() => {
    if (title) document.title = brand?.name ? `${title} · ${brand.name}` : title
  }, [title, brand])
  if (error && !dashboard) return <Notice>{noticeOf(error)}</Notice>
  if (!dashboard || !own) return <Waiting what="the dashboard" height={320} />
  return (
    <main className="shared-page">
      {hasTitle && (
        <header>
          {brand?.logo && <img className="logo" src="/console/logo" alt="" />}
          <h1>{title}</h1>
          {dashboard.description && <p className="soft">{dashboard.description}</p>}
        </header>
      )}
      <Boundary>
        <DashboardView
          dashboard={dashboard}
          address={address}
          onAddress={change}
          fixed={given ?? own}
          token={token}
          onRefused={onRefused}
        />
      </Boundary>
    </main>
  )
}

function Notice({ children }: { children: React.ReactNode }) {
  return (
    <main className="shared-page">
      <p className="empty" role="status">
        {children}
      </p>
    </main>
  )
}

function noticeOf(error: Error): string {
  const status = error instanceof ApiError ? error.status : undefined
  if (status === 401) return 'The session has ended. Reload the page to continue.'
  if (status === 403 || status === 404)
    return 'This dashboard does not exist, or you are not allowed to see it.'
  return error.message
}

/** The query of the address, which the page around a frame can change, and which it is told about. */
function useOwnAddress(): [URLSearchParams, (changes: Record<string, string | undefined>) => void] {
  const [address, setAddress] = useState(() => new URLSearchParams(location.search))
  const change = useCallback((changes: Record<string, string | undefined>) => {
    const next = new URLSearchParams(location.search)
    for (const [name, value] of Object.entries(changes)) {
      if (value === undefined || value === '') next.delete(name)
      else next.set(name, value)
    }
    if (next.toString() === new URLSearchParams(location.search).toString()) return
    history.replaceState(null, '', `${location.pathname}${next.size > 0 ? `?${next}` : ''}`)
    setAddress(next)
    const parameters = [...next].filter(([name]) => !name.startsWith('_') || name === '_range')
    tellParent({ type: 'wellhead:parameters', parameters: Object.fromEntries(parameters) })
  }, [])
  useEffect(() => watchParameters(change), [change])
  return [address, change]
}
