import { type ReactNode, useEffect } from 'react'

export function PageHead({
  title,
  badge,
  children,
  actions,
}: {
  title: string
  badge?: ReactNode
  children?: ReactNode
  actions?: ReactNode
}) {
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
