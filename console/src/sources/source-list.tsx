import { useQuery } from '@tanstack/react-query'
import { queries } from '../api/queries.ts'
import type { Source, Usage } from '../api/shapes.ts'
import { useMayChange } from '../api/use-may-change.ts'
import { Spark } from '../charts/spark.tsx'
import { Groups, ListPage } from '../definitions/list-page.tsx'
import { builtInSources, ownSources } from '../ui/built-in/built-in.ts'
import { Empty } from '../ui/states.tsx'
import { NameLink, Table } from '../ui/table.tsx'
import { bytes, count } from '../ui/text/format.ts'
import { useCreating } from '../ui/use-address.ts'
import { NewSource } from './source-form.tsx'

const columns = [
  ['Name'],
  ['Last hour', 'optional'],
  ['Entries', 'right'],
  ['Size', 'right optional'],
  ['Retention', 'right optional'],
] as const

export default function SourceList() {
  const mayChange = useMayChange('sources')
  const sources = useQuery(queries.sources())
  const { data: usage } = useQuery(queries.usage())
  const [creating, setCreating] = useCreating()
  return (
    <ListPage
      title="Sources"
      about="Tables of log entries, each with its own retention."
      create={mayChange ? ['New source', () => setCreating(true)] : undefined}
      query={sources}
      textOf={({ name, description }) => `${name} ${description}`}
      hint="name or description"
      empty={noSources}
      below={creating && mayChange && <NewSource onClose={() => setCreating(false)} />}
    >
      {(found, isSearch) => (
        <Groups
          found={found}
          isSearch={isSearch}
          isBuiltIn={({ name }) => builtInSources.has(name)}
          isFilled={usage?.sources.some(
            ({ name, entries }) => entries > 0 && builtInSources.has(name) && !ownSources.has(name),
          )}
          empty={noSources}
        >
          {(list) => <SourceTable sources={list} usage={usage} />}
        </Groups>
      )}
    </ListPage>
  )
}

const noSources = (
  <Empty title="No sources of your own">
    <p>Create one for your logs. It takes entries of any shape.</p>
  </Empty>
)

function SourceTable({ sources, usage }: { sources: readonly Source[]; usage: Usage | undefined }) {
  const usageOf = new Map(usage?.sources.map((one) => [one.name, one]))
  return (
    <Table columns={columns}>
      {sources.map(({ name, description, retention_days }) => {
        const used = usageOf.get(name)
        return (
          <tr key={name}>
            <td>
              <NameLink href={`/console/sources/${name}`} name={name} />
              <div className="under">{description}</div>
            </td>
            <td className="optional">
              <Spark values={used?.per_minute} />
            </td>
            <td className="right">{used ? count(used.entries) : '…'}</td>
            <td className="right optional">{used ? bytes(used.bytes) : '…'}</td>
            <td className="right optional">{retention_days} days</td>
          </tr>
        )
      })}
    </Table>
  )
}
