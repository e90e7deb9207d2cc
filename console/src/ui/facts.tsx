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

export type Fact = readonly [name: string, value: ReactNode]

export function Facts({ facts, className = '' }: { facts: readonly Fact[]; className?: string }) {
  return (
    <dl className={`facts ${className}`}>
      {facts.map(([name, value], index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: several facts may have the same name
        <div key={index}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
