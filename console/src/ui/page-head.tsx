import { type ReactNode, useEffect } from 'react'
import { Empty } from './states.tsx'

interface PageHeadProps {
  title: string
  badge?: ReactNode
  children?: ReactNode
  actions?: ReactNode
}

export function PageHead({ title, badge, children, actions }: PageHeadProps) {
  useEffect(() => {
    document.title = `${title} · Wellhead`
  }, [title])
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
