import { useQueries, useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useState } from 'react'
import { queries } from '../api/queries.ts'
import type { Source } from '../api/shapes.ts'
import { Button } from '../ui/button.tsx'
import { Icon } from '../ui/icon.tsx'
import { matches, SearchInput, wordsOf } from '../ui/search.tsx'
import { Failure, Loaded } from '../ui/states.tsx'
import { Breakable } from '../ui/table.tsx'
import { count } from '../ui/text/format.ts'
import { toggled } from '../ui/toggled.ts'
import { type SchemaGroup, schemaGroups } from './schema-groups.ts'
import { unlistedPaths } from './typed-columns.ts'

interface SchemaBrowserProps {
  onInsert: (name: string) => void
}

/** Sources with their columns and paths. The schema of a source is loaded when it is opened. */
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
        {(sources) => <Sources sources={sources} filter={filter} onInsert={onInsert} />}
      </Loaded>
    </div>
  )
}

function Sources({ sources, filter, onInsert }: SchemaBrowserProps & { sources: Source[]; filter: string }) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const schemas = useQueries({
    queries: sources.map(({ name }) => ({ ...queries.schema(name), enabled: open.has(name) })),
  })
  const words = wordsOf(filter)
  const shown = sources.flatMap((source, index) => {
    const isNamed = matches(source.name, words)
    const groups = schemaGroups(source, schemas[index]?.data, isNamed ? [] : words)
    const schema = schemas[index]
    return isNamed || groups.some(({ found }) => found > 0) ? [{ source, groups, schema }] : []
  })
  if (shown.length === 0) {
    return (
      <p className="faint" role="status">
        {sources.length === 0
          ? 'There are no sources.'
          : 'No names match. Paths are searched in open sources.'}
      </p>
    )
  }
  return (
    <ul className="schema-list" aria-label="Sources">
      {shown.map(({ source: { name, description }, groups, schema }) => (
        <li key={name}>
          <div className="schema-source">
            <button
              type="button"
              data-item
              aria-expanded={open.has(name)}
              title={description}
              onClick={() => setOpen((now) => toggled(now, name))}
              onKeyDown={moveFocus}
            >
              <Icon name={open.has(name) ? 'open' : 'closed'} />
              <span className="mono">{name}</span>
            </button>
            <Button
              look="plain icon"
              aria-label={`Insert ${name}`}
              title={`Insert ${name}`}
              onClick={() => onInsert(name)}
              icon="plus"
            />
          </div>
          {open.has(name) && (
            <>
              {groups.map((group) => (
                <Group key={group.title} group={group} onInsert={onInsert} />
              ))}
              {schema?.error ? (
                <Failure error={schema.error} retry={schema.refetch} />
              ) : (
                <p className="schema-note" role="status">
                  {schema?.data === undefined
                    ? 'Loading paths …'
                    : schema.data.length === 0
                      ? 'No entries yet.'
                      : unlistedPaths(schema.data) > 0 &&
                        `${count(unlistedPaths(schema.data))} less frequent paths are not listed.`}
                </p>
              )}
            </>
          )}
        </li>
      ))}
    </ul>
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
  const list = event.currentTarget.closest('.schema-list')
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
