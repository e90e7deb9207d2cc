import { type UseQueryResult, useQueries, useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useState } from 'react'
import { queries } from '../api/queries.ts'
import type { Source, SourcePath } from '../api/shapes.ts'
import { Button } from '../ui/button.tsx'
import { Icon } from '../ui/icon.tsx'
import { matches, SearchInput, wordsOf } from '../ui/search.tsx'
import { Failure, Loaded } from '../ui/states.tsx'
import { Breakable } from '../ui/table.tsx'
import { count } from '../ui/text/format.ts'
import { toggled } from '../ui/toggled.ts'
import { columnGroup, type SchemaGroup, schemaGroups } from './schema-groups.ts'
import { unlistedPaths } from './typed-columns.ts'

interface SchemaBrowserProps {
  onInsert: (name: string) => void
}

/** What a query can read, with columns and paths. The schema of a source is loaded when it is opened. */
export function SchemaBrowser({ onInsert }: SchemaBrowserProps) {
  const query = useQuery(queries.sources())
  const [filter, setFilter] = useState('')
  return (
    <div className="stack browser">
      <SearchInput
        label="Filter the schema"
        placeholder="Filter columns and paths"
        value={filter}
        onChange={setFilter}
      />
      <Loaded query={query} what="the sources" height={280}>
        {(sources) => <Readable sources={sources} filter={filter} onInsert={onInsert} />}
      </Loaded>
    </div>
  )
}

function Readable({ sources, filter, onInsert }: SchemaBrowserProps & { sources: Source[]; filter: string }) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const { data: tables = [] } = useQuery(queries.tables())
  const { data: endpoints = [] } = useQuery(queries.endpoints())
  const schemas = useQueries({
    queries: sources.map(({ name }) => ({ ...queries.schema(name), enabled: open.has(name) })),
  })
  const words = wordsOf(filter)
  const shown = [
    ...sources.map((source, index) => {
      const { name, description } = source
      const schema = schemas[index]
      const groupsOf = (wanted: typeof words) => schemaGroups(source, schema?.data, wanted)
      return { kind: 'Sources', name, inSql: name, description, groupsOf, schema }
    }),
    ...tables.map(({ name, description, stored_columns }) => {
      const groupsOf = (wanted: typeof words) => [columnGroup(stored_columns, wanted)]
      return { kind: 'Tables', name, inSql: name, description, groupsOf, schema: undefined }
    }),
    ...endpoints.map(({ name, description, columns }) => {
      const groupsOf = (wanted: typeof words) => [columnGroup(columns, wanted)]
      return { kind: 'Endpoints', name, inSql: `\`${name}\``, description, groupsOf, schema: undefined }
    }),
  ].flatMap(({ groupsOf, ...one }) => {
    const isNamed = matches(one.name, words)
    const groups = groupsOf(isNamed ? [] : words)
    return isNamed || groups.some(({ found }) => found > 0) ? [{ ...one, groups }] : []
  })
  if (shown.length === 0) {
    return (
      <p className="faint" role="status">
        {words.length === 0
          ? 'There is nothing to read.'
          : 'No names match. Paths are searched in open sources.'}
      </p>
    )
  }
  return ['Sources', 'Tables', 'Endpoints'].map((kind) => {
    const list = shown.filter((one) => one.kind === kind)
    if (list.length === 0) return null
    return (
      <section key={kind}>
        <p className="schema-note">{kind}</p>
        <ul className="schema-list" aria-label={kind}>
          {list.map(({ name, inSql, description, groups, schema }) => (
            <li key={inSql}>
              <div className="schema-source">
                <button
                  type="button"
                  data-item
                  aria-expanded={open.has(inSql)}
                  title={description}
                  onClick={() => setOpen((now) => toggled(now, inSql))}
                  onKeyDown={moveFocus}
                >
                  <Icon name={open.has(inSql) ? 'open' : 'closed'} />
                  <span className="mono">{name}</span>
                </button>
                <Button
                  look="plain icon"
                  aria-label={`Insert ${name}`}
                  title={`Insert ${name}`}
                  onClick={() => onInsert(inSql)}
                  icon="plus"
                />
              </div>
              {open.has(inSql) && (
                <>
                  {groups.map((group) => (
                    <Group key={group.title} group={group} onInsert={onInsert} />
                  ))}
                  {schema && <SchemaNote schema={schema} />}
                </>
              )}
            </li>
          ))}
        </ul>
      </section>
    )
  })
}

function SchemaNote({ schema: { data, error, refetch } }: { schema: UseQueryResult<SourcePath[]> }) {
  if (error) return <Failure error={error} retry={refetch} />
  return (
    <p className="schema-note" role="status">
      {data === undefined
        ? 'Loading paths …'
        : data.length === 0
          ? 'No entries yet.'
          : unlistedPaths(data) > 0 && `${count(unlistedPaths(data))} less frequent paths are not listed.`}
    </p>
  )
}

function Group({ group: { title, items, found }, onInsert }: SchemaBrowserProps & { group: SchemaGroup }) {
  if (found === 0) return null
  return (
    <>
      <p className="schema-note">{title}</p>
      <ul aria-label={title}>
        {items.map(({ name, inSql, kind, share, of, examples }) => (
          <li key={name}>
            {/* Arrow keys reach it: a stop for each path would put hundreds before the editor. */}
            <button
              type="button"
              data-item
              tabIndex={-1}
              className="schema-item"
              onClick={() => onInsert(inSql)}
              onKeyDown={moveFocus}
            >
              <span className="mono">
                <Breakable text={name} />
              </span>
              <span className="kind">{[kind, share].filter(Boolean).join(' · ')}</span>
              {of !== undefined && <span className="from">{of}</span>}
              {examples.length > 0 && <span className="examples">{examples.join(' · ')}</span>}
            </button>
          </li>
        ))}
      </ul>
      {found > items.length && (
        <p className="schema-note">
          First {items.length} of {count(found)}. Filter to find others.
        </p>
      )}
    </>
  )
}

/** Up and down go through everything that is open, Home and End to the first and the last. */
function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const list = event.currentTarget.closest('.browser')
  const items = [...(list?.querySelectorAll<HTMLElement>('[data-item]') ?? [])]
  const now = items.indexOf(event.currentTarget)
  const targets: Record<string, HTMLElement | undefined> = {
    ArrowDown: items[now + 1],
    ArrowUp: items[now - 1],
    Home: items[0],
    End: items.at(-1),
  }
  if (!Object.hasOwn(targets, event.key)) return
  event.preventDefault()
  targets[event.key]?.focus()
}
