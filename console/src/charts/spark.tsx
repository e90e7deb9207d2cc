import { short, sum } from '../ui/text/format.ts'

interface SparkProps {
  values: readonly number[] | undefined
  /** What the sum is about. */
  label?: string
}

/** Entries over time as small bars. Screen readers get the sum. */
export function Spark({ values, label = 'Entries in the last hour' }: SparkProps) {
  if (!values) return <div className="spark" />
  const highest = Math.max(1, ...values)
  const width = 160 / Math.max(1, values.length)
  return (
    <svg
      className="spark"
      viewBox="0 0 160 28"
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}: ${short(sum(values))}`}
    >
      {values.map((value, index) => {
        const height = value === 0 ? 1 : Math.max(2, (value / highest) * 28)
        return (
          <rect
            // biome-ignore lint/suspicious/noArrayIndexKey: a bar is identified by its position
            key={index}
            x={index * width}
            y={28 - height}
            width={Math.max(0.5, width - 0.8)}
            height={height}
            opacity={value === 0 ? 0.25 : 0.85}
          />
        )
      })}
    </svg>
  )
}
