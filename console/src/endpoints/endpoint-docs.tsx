import { textOfValue } from '../../../src/shared/list-text.ts'
import type { CallableEndpoint, Parameter, Parameters } from '../api/shapes.ts'
import { type Fact, Facts } from '../ui/facts.tsx'
import { Card } from '../ui/page-head.tsx'
import { SnippetTabs } from '../ui/snippets/snippet.tsx'
import { agentSnippets, callSnippets } from '../ui/snippets/snippets.ts'
import { Table } from '../ui/table.tsx'
import { counted, seconds } from '../ui/text/format.ts'

const formats = [
  ['json', 'The default: an object with the rows in result.'],
  ['csv', 'A line with the column names, then one line per row.'],
  ['ndjson', 'One JSON object per line.'],
  ['parquet', 'A file for DuckDB, pandas and other tools.'],
  ['arrow', 'An Arrow stream.'],
] as const

interface EndpointDocsProps {
  endpoint: CallableEndpoint
  /** Values in the request to copy. */
  values: Record<string, string>
  /** Fixed by the token. */
  fixed: Readonly<Record<string, string>>
}

/** How to request an endpoint, for those who do not write it. */
export function EndpointDocs({ endpoint, values, fixed }: EndpointDocsProps) {
  const { name, parameters, columns, cache_seconds, max_rows, version } = endpoint
  const facts: Fact[] = [
    ['Cache lifetime', cache_seconds === null ? 'not cached' : seconds(cache_seconds)],
    ['Row limit', counted(max_rows, 'row')],
    ['Version', String(version)],
  ]
  return (
    <div className="stack">
      <Card title="Request">
        <div className="card-body">
          <SnippetTabs
            label="Request with"
            snippets={[...callSnippets(location.origin, name, values), ...agentSnippets(location.origin)]}
          />
          <p className="soft">
            Set <code>WELLHEAD_TOKEN</code> to your token where the request is sent, and keep it out of pages
            that others open.
          </p>
          <Facts facts={facts} />
        </div>
      </Card>
      <Card title="Parameters">
        <ParameterTable parameters={parameters} fixed={fixed} />
      </Card>
      <div className="parts two">
        <Card title="Columns">
          <Table columns={[['Name'], ['Type']]} className="plain">
            {columns.map((column) => (
              <tr key={column.name}>
                <td className="mono">{column.name}</td>
                <td className="mono soft example">{column.type}</td>
              </tr>
            ))}
          </Table>
        </Card>
        <Card
          title="Formats"
          aside={
            <span className="faint">
              Parameter <code>_format</code>
            </span>
          }
        >
          <Table columns={[['Format'], ['Result']]} className="plain">
            {formats.map(([format, text]) => (
              <tr key={format}>
                <td className="mono">{format}</td>
                <td>{text}</td>
              </tr>
            ))}
          </Table>
        </Card>
      </div>
    </div>
  )
}

const parameterColumns = [
  ['Name'],
  ['Type', 'optional'],
  ['Default', 'optional'],
  ['Example', 'optional'],
  ['Description'],
] as const

function ParameterTable({
  parameters,
  fixed,
}: {
  parameters: Parameters
  fixed: EndpointDocsProps['fixed']
}) {
  const own = Object.entries(parameters)
  if (own.length === 0 && Object.keys(fixed).length === 0) {
    return <p className="card-body soft">This endpoint has no parameters.</p>
  }
  return (
    <Table columns={parameterColumns} className="plain">
      {Object.entries(fixed).map(([name, value]) => (
        <tr key={name}>
          <td className="mono">{name}</td>
          <td className="optional faint">–</td>
          <td className="optional faint">–</td>
          <td className="optional faint">–</td>
          <td>
            Your token sets it to <code>{value}</code>. Omit it.
          </td>
        </tr>
      ))}
      {own.map(([name, parameter]) => (
        <ParameterRow key={name} name={name} parameter={parameter} />
      ))}
    </Table>
  )
}

function ParameterRow({ name, parameter }: { name: string; parameter: Parameter }) {
  const { type = 'string', required, description, enum: allowed } = parameter
  const [preset, example] = [parameter.default, parameter.example].map(
    (value) => value !== undefined && textOfValue(value),
  )
  const shown = (value: string | undefined | false) =>
    !value ? <span className="faint">–</span> : <code>{value}</code>
  return (
    <tr>
      <td>
        <span className="mono">{name}</span>
        {required && <div className="under">required</div>}
        <div className="under narrow-only">
          {type}
          {preset !== undefined && `, default ${preset}`}
          {example !== undefined && `, for example ${example}`}
        </div>
      </td>
      <td className="optional">{type}</td>
      <td className="optional example">{shown(preset)}</td>
      <td className="optional example">{shown(example)}</td>
      <td>
        {description}
        {allowed && (
          <div className="under">
            One of{' '}
            {allowed.map((value, index) => (
              <span key={String(value)}>
                {index > 0 && ', '}
                <code>{String(value)}</code>
              </span>
            ))}
          </div>
        )}
      </td>
    </tr>
  )
}
