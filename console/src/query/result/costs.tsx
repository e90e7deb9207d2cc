import type { ReactNode } from 'react'

interface CostsProps {
  /** A label, a figure, and what follows it. Without a figure, nothing is shown. */
  costs: readonly (readonly [label: string, figure: ReactNode, more?: ReactNode])[]
}

/** What a request cost, in one line. */
export function Costs({ costs }: CostsProps) {
  const known = costs.filter(([, figure]) => figure !== undefined && figure !== null)
  return known.map(([label, figure, more]) => (
    <span key={label}>
      {label} <b>{figure}</b>
      {more}
    </span>
  ))
}
