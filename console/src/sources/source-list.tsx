import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { queries } from '../api/queries.ts'
import { bytes, count } from '../ui/format.ts'
import { Icon } from '../ui/icon.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Loaded } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
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
  const [creating, setCreating] = useState(false)
  const usageOf = new Map(usage?.sources.map((one) => [one.name, one]))
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
        {(list) => (
          <Table columns={columns}>
            {list.map(({ name, description, retention_days }) => {
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
        )}
      </Loaded>
      {creating && <NewSource onClose={() => setCreating(false)} />}
    </div>
  )
}
