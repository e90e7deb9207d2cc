import { useQuery } from '@tanstack/react-query'
import { useId, useMemo, useState } from 'react'
import { api, at } from '../api/api.ts'
import type { Entry, SourcePath } from '../api/api-types.ts'
import { queries } from '../api/queries.ts'
import { Breakable } from '../ui/breakable.tsx'
import { count } from '../ui/format.ts'
import { Empty, Loaded } from '../ui/states.tsx'
import { NewColumn, RemoveColumn } from './typed-column.tsx'
import { canBeColumn, kindsOf, shareOf } from './typed-columns.ts'

interface SchemaRow {
  /** As it is written in SQL. */
  name: string
  kinds: string
  share: string
  /** Undefined for the columns that every source has. */
  path?: SourcePath
}

const fixedColumns: SchemaRow[] = [
  { name: 'id', kinds: 'text', share: '100 %' },
  { name: 'timestamp', kinds: 'time', share: '100 %' },
  { name: 'project', kinds: 'text', share: '100 %' },
  { name: 'event_message', kinds: 'text', share: '100 %' },
]

/** As many rows as a table shows at once; whoever looks for another one searches. */
const maxRows = 200

/** What the entries of a source have, with an example of each, and its typed columns. */
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
          placeholder="Search paths and kinds"
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
  const [making, setMaking] = useState<string>()
  const [removing, setRemoving] = useState<{ column: string; path: string }>()
  const all = useMemo(
    () => [
      ...fixedColumns,
      ...paths.map((path) => ({
        name: `metadata.${path.path}`,
        kinds: kindsOf(path.types).join(', '),
        share: shareOf(path.entries, path.sampled),
        path,
      })),
    ],
    [paths],
  )
  const words = searched.toLowerCase().split(/\s+/)
  const found = all.filter(({ name: inSql, kinds, path }: SchemaRow) => {
    const text = `${inSql} ${kinds} ${path?.column ?? ''}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
  if (found.length === 0) {
    return (
      <Empty title="No such path">
        <p>None of the {count(all.length)} columns and paths has this in its name, kind or typed column.</p>
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
              <th scope="col" className="optional">
                Kind
              </th>
              <th scope="col" className="right optional">
                Entries
              </th>
              <th scope="col">Typed column</th>
              <th scope="col" className="optional">
                Example
              </th>
            </tr>
          </thead>
          <tbody>
            {found.slice(0, maxRows).map(({ name: inSql, kinds, share, path }: SchemaRow) => (
              <tr key={inSql}>
                <td className="path">
                  <span className="mono">
                    <Breakable text={inSql} />
                  </span>
                  <div className="under narrow-only">{kinds === '' ? share : `${kinds} · ${share}`}</div>
                </td>
                <td className="soft optional">{kinds}</td>
                <td
                  className="right soft optional"
                  title={path && `${count(path.entries)} of the newest ${count(path.sampled)} entries`}
                >
                  {share}
                </td>
                <td>{path && <ColumnCell path={path} onMake={setMaking} onRemove={setRemoving} />}</td>
                <td className="mono faint optional example">{exampleOf(recent, inSql)}</td>
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
      {making !== undefined && <NewColumn source={name} path={making} onClose={() => setMaking(undefined)} />}
      {removing && <RemoveColumn source={name} {...removing} onClose={() => setRemoving(undefined)} />}
    </>
  )
}

function ColumnCell({
  path: { path, column, filled },
  onMake,
  onRemove,
}: {
  path: SourcePath
  onMake: (path: string) => void
  onRemove: (removed: { column: string; path: string }) => void
}) {
  if (column === null) {
    if (!canBeColumn(path)) return null
    return (
      <button
        type="button"
        className="button small"
        aria-label={`Make a column: metadata.${path}`}
        onClick={() => onMake(path)}
      >
        Make a column
      </button>
    )
  }
  return (
    <span className="column-cell">
      <code>{column}</code>
      {filled !== null && filled < 1 && (
        <span className="under nowrap">
          <progress aria-label={`Filling ${column}`} value={filled} /> {Math.floor(filled * 100)} % filled
        </span>
      )}
      <button
        type="button"
        className="button small"
        aria-label={`Remove the column ${column}`}
        onClick={() => onRemove({ column, path })}
      >
        Remove
      </button>
    </span>
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
