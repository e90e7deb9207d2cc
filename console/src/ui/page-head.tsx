import { type ComponentProps, type ReactNode, useEffect, useId } from 'react'
import { Link } from 'wouter'
import { ApiError } from '../api/api.ts'
import { useProductName } from './brand/brand.ts'
import { Empty, Loaded } from './states.tsx'

interface PageHeadProps {
  title: string
  badge?: ReactNode
  children?: ReactNode
  actions?: ReactNode
}

export function PageHead({ title, badge, children, actions }: PageHeadProps) {
  const product = useProductName()
  useEffect(() => {
    document.title = `${title} · ${product}`
  }, [title, product])
  return (
    <div className="page-head">
      <div>
        <div className="row">
          <h1>{title}</h1>
          {badge}
        </div>
        {children}
      </div>
      {actions && <div className="actions">{actions}</div>}
    </div>
  )
}

interface CardProps extends ComponentProps<'section'> {
  title: string
  /** Beside the title. */
  aside?: ReactNode
}

/** A part of a page, with a title. */
export function Card({ title, aside, className = '', children, ...rest }: CardProps) {
  const id = useId()
  return (
    <section {...rest} className={`card part ${className}`} aria-labelledby={id}>
      <div className="card-head">
        <h2 id={id}>{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  )
}

/** The page of something that does not exist. */
export function MissingPage({ name, title, children }: { name: string; title: string; children: ReactNode }) {
  return (
    <div className="page">
      <PageHead title={name} />
      <Empty title={title}>
        <p>{children}</p>
      </Empty>
    </div>
  )
}

interface ExistingProps<T> {
  query: { data: T | undefined; error: Error | null; refetch: () => unknown }
  /** `endpoint`, and `endpoints` in the path of their list. */
  kind: { one: string; path: string }
  name: string
  children: (data: T) => ReactNode
}

/** The page of something that may not exist. */
export function Existing<T>({ query, kind: { one, path }, name, children }: ExistingProps<T>) {
  const { data, error } = query
  if (data === undefined && error instanceof ApiError && error.status === 404) {
    return (
      <MissingPage name={name} title={`No such ${one}`}>
        There is no {one} {name}. <Link href={`/console/${path}`}>All {path}</Link>
      </MissingPage>
    )
  }
  return (
    <Loaded query={query} what={`the ${one}`} height={480}>
      {children}
    </Loaded>
  )
}
