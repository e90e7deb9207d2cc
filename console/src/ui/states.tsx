import type { ReactNode } from 'react'
import { ApiError } from '../api/api.ts'

/** Takes the room that the content will take. */
export function Waiting({ what, height }: { what: string; height: number }) {
  return (
    <div role="status" aria-label={`Loading ${what}`}>
      <div className="skeleton" style={{ height, width: '100%' }} />
    </div>
  )
}

export function Failure({ error, retry }: { error: Error; retry?: () => unknown }) {
  const id = error instanceof ApiError ? error.requestId : undefined
  return (
    <div className="note-box bad" role="alert">
      <p>{error.message}</p>
      {id !== undefined && <p className="mono">Request {id}</p>}
      {retry && (
        <p>
          <button type="button" className="button small" onClick={() => retry()}>
            Try again
          </button>
        </p>
      )}
    </div>
  )
}

export function Empty({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

interface Asked<T> {
  data: T | undefined
  error: Error | null
  refetch: () => unknown
}

/** What was asked for, or why it is not there. What is there stays while it is asked for again. */
export function Loaded<T>({
  query,
  what,
  height = 200,
  children,
}: {
  query: Asked<T>
  what: string
  height?: number
  children: (data: T) => ReactNode
}) {
  if (query.data !== undefined) return children(query.data)
  if (query.error) return <Failure error={query.error} retry={query.refetch} />
  return <Waiting what={what} height={height} />
}
