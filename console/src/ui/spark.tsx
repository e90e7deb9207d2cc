import { short } from './format.ts'

/** Counts over time as small bars; a screen reader is told the sum. */
export function Spark({ values, label }: { values: readonly number[]; label: string }) {
  const highest = Math.max(1, ...values)
  const total = values.reduce((sum, value) => sum + value, 0)
  const width = 160 / Math.max(1, values.length)
  return (
    <svg
      className="spark"
      viewBox="0 0 160 28"
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}: ${short(total)}`}
    >
      {values.map((value, index) => {
        const height = value === 0 ? 1 : Math.max(2, (value / highest) * 28)
        return (
          <rect
            // biome-ignore lint/suspicious/noArrayIndexKey: a bar is its place
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
