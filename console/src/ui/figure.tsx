import type { ReactNode } from 'react'

export function Figure({ name, value, under }: { name: string; value: ReactNode; under?: ReactNode }) {
  return (
    <div className="figure">
      <dt>{name}</dt>
      <dd>{value}</dd>
      <dd className="under">{under}</dd>
    </div>
  )
}
