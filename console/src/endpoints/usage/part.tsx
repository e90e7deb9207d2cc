import { type ReactNode, useId } from 'react'
import { Boundary, Loaded } from '../../ui/states.tsx'

interface PartProps<T> {
  title: string
  /** Beside the title. */
  aside?: ReactNode
  className?: string
  query: { data: T | undefined; error: Error | null; refetch: () => unknown; isPlaceholderData?: boolean }
  /** The height of the content, so that nothing moves when it is there. */
  height: number
  children: (data: T) => ReactNode
}

/** A part of a page that loads, refreshes and fails without the others. */
export function Part<T>({ title, aside, className = '', query, height, children }: PartProps<T>) {
  const id = useId()
  const { data, error, isPlaceholderData = false } = query
  return (
    <section className={`card part ${className}`} aria-labelledby={id} aria-busy={isPlaceholderData}>
      <div className="card-head">
        <h2 id={id}>{title}</h2>
        {data !== undefined && error ? (
          <span className="badge warn" title={error.message}>
            Not up to date
          </span>
        ) : (
          aside
        )}
      </div>
      <div className={isPlaceholderData ? 'old' : undefined}>
        <Boundary what="part">
          <Loaded query={query} what={title.toLowerCase()} height={height}>
            {children}
          </Loaded>
        </Boundary>
      </div>
    </section>
  )
}
