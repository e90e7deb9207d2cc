import { sum } from '../ui/text/format.ts'
import { colorsOf, commonUnit, highest, type Series, valueText } from './series.ts'

interface NameBarsProps {
  label: string
  names: readonly string[]
  series: readonly Series[]
  isStacked: boolean
  height: number
}

/** Horizontal bars, which have room for long names. */
export function NameBars({ label, names, series, isStacked, height }: NameBarsProps) {
  const colors = colorsOf(series)
  const valuesAt = (at: number) => series.map(({ values }) => values[at] ?? 0)
  const sizes = names.map((_, at) => (isStacked ? sum(valuesAt(at)) : highest(valuesAt(at))))
  const most = Math.max(highest(sizes), Number.MIN_VALUE)
  const unit = commonUnit(series)
  return (
    <div className="plot">
      {series.length > 1 && (
        <ul className="legend" aria-label={`Series of ${label}`}>
          {series.map(({ name }, index) => (
            <li key={name}>
              <i style={{ color: `var(--${colors[index]?.color})` }} /> {name}
            </li>
          ))}
        </ul>
      )}
      <div
        className="name-bars"
        style={{ maxHeight: height + 36 }}
        role="region"
        aria-label={label}
        tabIndex={0}
      >
        <dl>
          {names.map((name, at) => (
            <div key={name}>
              <dt title={name}>{name}</dt>
              <dd className={isStacked ? 'stacked' : undefined}>
                {series.map(({ name: part, values, unit: own = unit }, index) => (
                  <span key={part} title={`${part}: ${valueText(values[at], own)}`}>
                    <i
                      className={`bar${colors[index]?.isPale ? ' pale' : ''}`}
                      style={{
                        color: `var(--${colors[index]?.color})`,
                        // The number beside the longest bar needs room.
                        width: values[at] ? `max(1px, (100% - 7ch) * ${values[at] / most})` : 0,
                      }}
                    />
                    {!isStacked && <span className="number">{valueText(values[at], own)}</span>}
                  </span>
                ))}
                {isStacked && <span className="number">{valueText(sizes[at], unit)}</span>}
              </dd>
            </div>
          ))}
        </dl>
      </div>
    </div>
  )
}
