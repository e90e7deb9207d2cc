import { useQuery } from '@tanstack/react-query'
import { useId, useMemo, useState } from 'react'
import { api, at } from '../data/api.ts'
import type { Entry, SourcePath } from '../data/api-types.ts'
import { count } from '../data/format.ts'
import { queries } from '../data/queries.ts'
import { Empty, Loaded } from './states.tsx'

const fixedColumns: SourcePath[] = [
  { path: 'id', types: ['String'] },
  { path: 'timestamp', types: ['DateTime64(6)'] },
  { path: 'project', types: ['String'] },
  { path: 'event_message', types: ['String'] },
]

/** As many rows as a table shows at once; whoever looks for another one searches. */
const maxRows = 200

/** What the entries of a source have, with an example of each. */
export function SourceSchema({ name }: { name: string }) {
  const id = useId()
  const query = useQuery(queries.schema(name))
  const [searched, setSearched] = useState('')
  return (
    <section className="stack" aria-labelledby={id}>
      <div className="tabs-line">
        <h2 id={id}>Schema</h2>
        <input
          className="input schema-search"
          type="search"
          aria-label="Search the schema"
          placeholder="Search paths and types"
          spellCheck={false}
          value={searched}
          onChange={(event) => setSearched(event.target.value)}
        />
      </div>
      <Loaded query={query} what="the schema" height={360}>
        {(paths) => <Paths name={name} paths={paths} searched={searched} />}
      </Loaded>
    </section>
  )
}

function Paths({ name, paths, searched }: { name: string; paths: SourcePath[]; searched: string }) {
  const { data: recent = [] } = useQuery({
    queryKey: ['sources', name, 'recent'],
    queryFn: ({ signal }) => api<Entry[]>(`/api/sources/${at(name)}/recent?limit=50`, { signal }),
  })
  const all = useMemo(
    () => [...fixedColumns, ...paths.map(({ path, types }) => ({ path: `metadata.${path}`, types }))],
    [paths],
  )
  const words = searched.toLowerCase().split(/\s+/)
  const found = all.filter(({ path, types }) => {
    const text = `${path} ${types.join(' ')}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
  if (found.length === 0) {
    return (
      <Empty title="No such path">
        <p>None of the {count(all.length)} columns and paths has this in its name or its type.</p>
      </Empty>
    )
  }
  return (
    <>
      <div className="table-box bounded" role="region" aria-label="Columns and paths" tabIndex={0}>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">In SQL</th>
              <th scope="col">Type</th>
              <th scope="col" className="optional">
                Example
              </th>
            </tr>
          </thead>
          <tbody>
            {found.slice(0, maxRows).map(({ path, types }) => (
              <tr key={path}>
                <td className="mono path">{path}</td>
                <td className="mono soft">{types.join(', ')}</td>
                <td className="mono faint optional">{exampleOf(recent, path)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="faint" role="status">
        {found.length > maxRows
          ? `The first ${maxRows} of ${count(found.length)}. Search for others.`
          : `${count(found.length)} of ${count(all.length)}`}
      </p>
    </>
  )
}

function exampleOf(entries: readonly Entry[], path: string): string {
  // A dot inside of a key is written so.
  const keys = path.split('.').map((key) => key.replaceAll('%2E', '.'))
  for (const entry of entries) {
    const value = keys.reduce<unknown>(
      (inside, key) => (inside as Record<string, unknown> | null | undefined)?.[key],
      entry,
    )
    if (value !== undefined && value !== null && value !== '') {
      const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
      return text.length > 60 ? `${text.slice(0, 60)}…` : text
    }
  }
  return ''
}
