import { Component, type ReactNode } from 'react'
import { ApiError } from '../api/api.ts'
import { Button } from './button.tsx'

/** Takes the space that the content will take. */
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
          <Button look="small" onClick={() => retry()}>
            Try again
          </Button>
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

interface LoadedProps<T> {
  query: { data: T | undefined; error: Error | null; refetch: () => unknown }
  what: string
  height?: number
  children: (data: T) => ReactNode
}

/** The data of a query, or why there is none. Old data stays while it is fetched again. */
export function Loaded<T>({ query, what, height = 200, children }: LoadedProps<T>) {
  if (query.data !== undefined) return children(query.data)
  if (query.error) return <Failure error={query.error} retry={query.refetch} />
  return <Waiting what={what} height={height} />
}

/** Keeps an error of one page or part from taking down the others. After an update, files of the old version may be gone. */
export class Boundary extends Component<{ what?: 'page' | 'part'; children: ReactNode }, { error?: Error }> {
  override state: { error?: Error } = {}

  static getDerivedStateFromError(error: Error): { error: Error } {
    return { error }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (!error) return this.props.children
    const failure = new Error(`This ${this.props.what ?? 'page'} failed to load: ${error.message}`)
    return <Failure error={failure} retry={() => location.reload()} />
  }
}
