import { Link } from 'wouter'
import type { Endpoint } from '../../api/shapes.ts'
import type { Chart } from '../../query/result/chart-choice.ts'

interface AlertOnThisProps {
  endpoint: Endpoint
  chart: Chart | null
  values: Record<string, string>
}

/** Opens the form of an alert on this result, filled in from the column of the chart. */
export function AlertOnThis({ endpoint, chart, values }: AlertOnThisProps) {
  const numbers = endpoint.columns.filter(({ type }) =>
    /^(?:LowCardinality\()?(?:Nullable\()?(?:U?Int|Float|Decimal)/.test(type),
  )
  const column = chart?.y[0] ?? numbers[0]?.name
  const sent = Object.entries(values).filter(([name, value]) => value !== '' && name !== 'sql')
  const address = new URLSearchParams({
    endpoint: endpoint.name,
    when: column === undefined ? 'rows > 0' : `any(${column}) > 0`,
    parameters: JSON.stringify(Object.fromEntries(sent)),
  })
  return (
    <Link className="button small" href={`/console/alerts?${address}`}>
      Alert on this
    </Link>
  )
}
