import type { ReactNode } from 'react'
import { Card } from '../ui/page-head.tsx'
import { Boundary, Loaded } from '../ui/states.tsx'

export interface PartQuery<T> {
  data: T | undefined
  error: Error | null
  refetch: () => unknown
  isPlaceholderData?: boolean
}

interface PartProps<T> {
  title: string
  /** Beside the title. */
  aside?: ReactNode
  className?: string
  query: PartQuery<T>
  /** The height of the content, so that nothing moves when it is there. */
  height: number
  children: (data: T) => ReactNode
}

/** A part of a page that loads, refreshes and fails without the others. */
export function Part<T>({ title, aside, className = '', query, height, children }: PartProps<T>) {
  const { data, error, isPlaceholderData = false } = query
  const isOld = data !== undefined && error !== null
  return (
    <Card
      title={title}
      className={className}
      aria-busy={isPlaceholderData}
      aside={
        isOld ? (
          <span className="badge warn" title={error.message}>
            Not up to date
          </span>
        ) : (
          aside
        )
      }
    >
      <div className={isPlaceholderData ? 'old' : undefined}>
        <Boundary what="part">
          <Loaded query={query} what={title.toLowerCase()} height={height}>
            {children}
          </Loaded>
        </Boundary>
      </div>
    </Card>
  )
}
