import { useQuery } from '@tanstack/react-query'
import { useId, useMemo, useState } from 'react'
import { isColumnPath } from '../../../src/shared/column-names.ts'
import { queries } from '../api/queries.ts'
import type { Entry, SourcePath } from '../api/shapes.ts'
import { useMayChange } from '../api/use-may-change.ts'
import { metadataColumn } from '../query/editor/sql-dialect.ts'
import { CreateColumn, NewColumn, RemoveColumn } from '../schema/column-dialogs.tsx'
import { kindsOf, shareOf, unlistedPaths } from '../schema/typed-columns.ts'
import { Button } from '../ui/button.tsx'
import { matches, SearchInput, wordsOf } from '../ui/search.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { Breakable, Table } from '../ui/table.tsx'
import { count } from '../ui/text/format.ts'

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

const columns = [
  ['In SQL'],
  ['Kind', 'optional'],
  ['Entries', 'right optional'],
  ['Typed column'],
  ['Examples', 'optional'],
] as const

const maxRows = 200

/** The paths of a source, with examples of each, and its typed columns. */
export function SourceSchema({ name }: { name: string }) {
  const id = useId()
  const query = useQuery(queries.schema(name))
  const [search, setSearch] = useState('')
  return (
    <section className="stack" aria-labelledby={id}>
      <div className="tabs-line">
        <h2 id={id}>Schema</h2>
        <SearchInput
          className="schema-search"
          label="Search the schema"
          placeholder="Search paths and kinds"
          value={search}
          onChange={setSearch}
        />
      </div>
      <Loaded query={query} what="the schema" height={360}>
        {(paths) => <Paths name={name} paths={paths} search={search} />}
      </Loaded>
    </section>
  )
}

function Paths({ name, paths, search }: { name: string; paths: SourcePath[]; search: string }) {
  const { data: [newest] = [] } = useQuery(queries.recent(name, 1))
  const [created, setCreated] = useState<string>()
  const [removed, setRemoved] = useState<{ column: string; path: string }>()
  const all = useMemo<SchemaRow[]>(
    () => [
      ...fixedColumns,
      ...paths.map((path) => ({
        name: metadataColumn(path.path),
        kinds: kindsOf(path.types).join(', '),
        share: shareOf(path.entries, path.sampled),
        path,
      })),
    ],
    [paths],
  )
  const unlisted = unlistedPaths(paths)
  const words = wordsOf(search)
  const found = all.filter(({ name: inSql, kinds, path }) =>
    matches(`${inSql} ${kinds} ${path?.column ?? ''}`, words),
  )
  if (found.length === 0) {
    return (
      <Empty title="No matching paths">
        <p>
          None of the {count(all.length)} columns and paths match by name, kind or typed column.
          {unlisted > 0 && ` ${count(unlisted)} less frequent paths are not listed.`}
        </p>
      </Empty>
    )
  }
  return (
    <>
      <Table label="Columns and paths" className="bounded" columns={columns}>
        {found.slice(0, maxRows).map(({ name: inSql, kinds, share, path }) => (
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
            <td>{path && <ColumnCell path={path} onCreate={setCreated} onRemove={setRemoved} />}</td>
            <td className="mono faint optional example">
              {shortened(path ? path.examples.join(' · ') : ownExample(newest, inSql as keyof Entry))}
            </td>
          </tr>
        ))}
      </Table>
      <p className="faint" role="status">
        {found.length > maxRows
          ? `First ${maxRows} of ${count(found.length)}. Search to find others.`
          : `${count(found.length)} of ${count(all.length)}`}
        {unlisted > 0 &&
          ` The newest entries have ${count(unlisted)} more paths that are less frequent and not listed.`}
      </p>
      {created !== undefined && (
        <NewColumn source={name} path={created} onClose={() => setCreated(undefined)} />
      )}
      {removed && <RemoveColumn source={name} {...removed} onClose={() => setRemoved(undefined)} />}
    </>
  )
}

interface ColumnCellProps {
  path: SourcePath
  onCreate: (path: string) => void
  onRemove: (removed: { column: string; path: string }) => void
}

function ColumnCell({ path: { path, column, filled }, onCreate, onRemove }: ColumnCellProps) {
  const mayChange = useMayChange('sources')
  if (column === null)
    return isColumnPath(path) && <CreateColumn path={path} onClick={() => onCreate(path)} />
  return (
    <span className="column-cell">
      <code>{column}</code>
      {filled !== null && filled < 1 && (
        <span className="under nowrap">
          <progress aria-label={`Filling ${column}`} value={filled} /> {Math.floor(filled * 100)} % filled
        </span>
      )}
      {mayChange && (
        <Button
          look="small"
          aria-label={`Remove the column ${column}`}
          onClick={() => onRemove({ column, path })}
        >
          Remove
        </Button>
      )}
    </span>
  )
}

/** Searches and SQL read a timestamp in this form. */
function ownExample(entry: Entry | undefined, column: keyof Entry): string {
  if (!entry) return ''
  return column === 'timestamp' ? new Date(entry.timestamp / 1000).toISOString() : String(entry[column])
}

function shortened(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}
