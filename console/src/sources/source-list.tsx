import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import type { Source, Usage } from '../api/api-types.ts'
import { queries } from '../api/queries.ts'
import { bytes, count } from '../ui/format.ts'
import { Icon } from '../ui/icon.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Spark } from '../ui/spark.tsx'
import { Loaded } from '../ui/states.tsx'
import { NewSource } from './source-form.tsx'

export default function SourceList() {
  const sources = useQuery(queries.sources())
  const { data: usage } = useQuery(queries.usage())
  const [making, setMaking] = useState(false)
  return (
    <div className="page">
      <PageHead
        title="Sources"
        actions={
          <button type="button" className="button primary" onClick={() => setMaking(true)}>
            <Icon name="plus" />
            New source
          </button>
        }
      >
        <p>Where entries are kept, and for how long.</p>
      </PageHead>
      <Loaded query={sources} what="the sources" height={480}>
        {(list) => <List sources={list} usage={usage} />}
      </Loaded>
      {making && <NewSource onClose={() => setMaking(false)} />}
    </div>
  )
}

function List({ sources, usage }: { sources: readonly Source[]; usage: Usage | undefined }) {
  const found = new Map(usage?.sources.map((one) => [one.name, one]))
  return (
    <div className="table-box">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" className="optional">
              Last hour
            </th>
            <th scope="col" className="right">
              Entries
            </th>
            <th scope="col" className="right optional">
              Size
            </th>
            <th scope="col" className="right optional">
              Kept
            </th>
          </tr>
        </thead>
        <tbody>
          {sources.map(({ name, description, retention_days }) => {
            const of = found.get(name)
            return (
              <tr key={name}>
                <td>
                  <Link className="name" href={`/console/sources/${name}`}>
                    {name}
                  </Link>
                  <div className="under">{description}</div>
                </td>
                <td className="optional">
                  {of ? (
                    <Spark values={of.per_minute} label="Entries in the last hour" />
                  ) : (
                    <div className="spark" />
                  )}
                </td>
                <td className="right">{of ? count(of.entries) : '…'}</td>
                <td className="right optional">{of ? bytes(of.bytes) : '…'}</td>
                <td className="right optional">{retention_days} days</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
