import { type ReactNode, useEffect } from 'react'
import { useProductName } from './brand/brand.ts'
import { Empty } from './states.tsx'

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
