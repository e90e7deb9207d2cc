import { useCallback } from 'react'
import { pathOf } from '../../../../src/shared/path-text.ts'
import { edits } from '../../api/rights.ts'
import type { Whoami } from '../../api/shapes.ts'
import { Waiting } from '../../ui/states.tsx'
import { Onward } from '../onward.tsx'
import { conditionOf } from '../search/conditions.ts'
import { fieldOfPath } from '../source-fields.ts'
import type { Logs } from '../use-logs.ts'
import { ColumnPicker } from './column-picker.tsx'
import { EntryList } from './entry-list.tsx'
import { useColumns } from './use-columns.ts'

const dayMs = 86_400_000
/** A list of several sources has what all of them have. */
const traceColumns = ['source', 'project', 'message'].map((path) => ({ path, width: 150, least: 150 }))
/** As many entries show whether their messages differ. */
const comparedEntries = 50

/** The list of entries with its columns, and what can be done with all of them. */
export function FoundEntries({ who, logs }: { who: Whoami; logs: Logs }) {
  const { source, search, live, range, entries, isSearch, hasProjects, ask } = logs
  const { hasNextPage, isFetching, fetchNextPage } = logs.found
  const compared = entries.slice(0, comparedEntries)
  const differs = (key: 'project' | 'event_message') =>
    compared.length < 2 || compared.some((one) => one[key] !== compared[0]?.[key])
  const columns = useColumns(source.name, {
    projects: hasProjects && search.project === undefined && differs('project'),
    messages: differs('event_message'),
  })
  const more = useCallback(() => {
    if (!isFetching) fetchNextPage()
  }, [isFetching, fetchNextPage])
  const shown = isSearch ? columns.shown : traceColumns
  if (!logs.hasList || !shown) return logs.error ? null : <Waiting what="entries" height={420} />
  if (logs.isEmpty) return null
  const spanMs = range.toMs - range.fromMs
  const fieldOf = ([first = '', ...rest]: string[]) =>
    first === 'metadata' ? fieldOfPath(pathOf(rest), source.columns) : pathOf([first, ...rest])
  const filter = (keys: string[], value: string, exclude: boolean) => {
    if (keys[0] === 'project' && !exclude && hasProjects) return ask({ project: value })
    logs.addCondition(conditionOf(fieldOf(keys), value, exclude))
  }
  const addColumn = ([first = '', ...rest]: string[]) => {
    const path = first === 'metadata' ? columnPath(pathOf(rest)) : first.replace('event_message', 'message')
    const paths = columns.shown?.map((one) => one.path) ?? []
    const hasMessage = paths.at(-1) === 'message'
    if (paths.includes(path)) return
    columns.choose(hasMessage ? [...paths.slice(0, -1), path, 'message'] : [...paths, path])
  }
  return (
    <>
      {isSearch && (
        <div className="row entries-tools">
          <Onward
            search={search}
            columns={shown.map(({ path }) => path)}
            relativeMs={range.relative === undefined ? undefined : spanMs}
            canDefine={edits(who)}
          />
          <ColumnPicker
            columns={columns}
            fields={logs.fields.map(({ field }) => columnPath(field))}
            source={who.admin ? source.name : undefined}
          />
        </div>
      )}
      <EntryList
        entries={entries}
        source={source.name}
        linked={search.around?.id}
        searchKey={JSON.stringify([live, search])}
        isOld={logs.isOld}
        isReading={live ? logs.isReading : undefined}
        showDay={spanMs > dayMs}
        columns={shown}
        onColumns={columns}
        onEnd={!live && hasNextPage ? more : undefined}
        onFilter={filter}
        onColumn={isSearch ? addColumn : undefined}
      />
    </>
  )
}

const ownFields = ['project', 'id', 'message', 'event_message', 'timestamp', 'source']

/** The prefix keeps a path of metadata from meaning another field of that name. */
const columnPath = (path: string) => (ownFields.includes(path) ? `metadata.${path}` : path)
