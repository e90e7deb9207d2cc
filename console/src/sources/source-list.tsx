import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { queries } from '../api/queries.ts'
import type { Source, Usage } from '../api/shapes.ts'
import { builtInSources } from '../ui/built-in/built-in.ts'
import { BuiltIn } from '../ui/built-in/built-in-group.tsx'
import { bytes, count } from '../ui/format.ts'
import { Icon } from '../ui/icon.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { useCreating } from '../ui/use-creating.ts'
import { NewSource } from './source-form.tsx'
import { Spark } from './spark.tsx'

const columns = [
  ['Name'],
  ['Last hour', 'optional'],
  ['Entries', 'right'],
  ['Size', 'right optional'],
  ['Retention', 'right optional'],
] as const

export default function SourceList() {
  const sources = useQuery(queries.sources())
  const { data: usage } = useQuery(queries.usage())
  const [creating, setCreating] = useCreating()
  return (
    <div className="page">
      <PageHead
        title="Sources"
        actions={
          <button type="button" className="button primary" onClick={() => setCreating(true)}>
            <Icon name="plus" />
            New source
          </button>
        }
      >
        <p>Tables of log entries, each with its own retention.</p>
      </PageHead>
      <Loaded query={sources} what="the sources" height={480}>
        {(list) => <Groups sources={list} usage={usage} />}
      </Loaded>
      {creating && <NewSource onClose={() => setCreating(false)} />}
    </div>
  )
}

interface GroupsProps {
  sources: readonly Source[]
  usage: Usage | undefined
}

function Groups({ sources, usage }: GroupsProps) {
  const builtIn = sources.filter(({ name }) => builtInSources.has(name))
  const own = sources.filter(({ name }) => !builtInSources.has(name))
  const filled = usage?.sources.some(({ name, entries }) => entries > 0 && builtInSources.has(name))
  return (
    <>
      {own.length > 0 ? (
        <SourceTable sources={own} usage={usage} />
      ) : (
        <Empty title="No sources of your own">
          <p>Create one for your logs. It takes entries of any shape.</p>
        </Empty>
      )}
      <BuiltIn count={builtIn.length} isFilled={filled}>
        <SourceTable sources={builtIn} usage={usage} />
      </BuiltIn>
    </>
  )
}

function SourceTable({ sources, usage }: GroupsProps) {
  const usageOf = new Map(usage?.sources.map((one) => [one.name, one]))
  return (
    <Table columns={columns}>
      {sources.map(({ name, description, retention_days }) => {
        const used = usageOf.get(name)
        return (
          <tr key={name}>
            <td>
              <Link className="name" href={`/console/sources/${name}`}>
                {name}
              </Link>
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
