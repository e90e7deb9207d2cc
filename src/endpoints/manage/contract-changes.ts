import { leadingWith } from '../../sql/with.ts'
import type { EndpointDefinition } from '../definition/definition.ts'
import { isJsonColumn, type ResultColumn } from '../definition/result-columns.ts'
import { columnChanges } from './column-changes.ts'
import { breaking, type ContractChange, compatible } from './contract-change.ts'
import { parameterChanges } from './parameter-changes.ts'

/** What callers of an endpoint rely on. */
export interface Contract {
  definition: EndpointDefinition
  columns: readonly ResultColumn[]
}

/**
 * What a new version of an endpoint means for those who call it. Breaking is what a caller may have to mend: a call
 * that was taken is refused or means something else, or a row lacks what it had. How fresh and how fast an answer is
 * is told, and breaks nothing.
 */
export function contractChanges(before: Contract, after: Contract): ContractChange[] {
  const [was, is] = [before.definition, after.definition]
  return [
    ...nameChange(was, is),
    ...parameterChanges(was, is),
    ...columnChanges(outwardColumns(before), outwardColumns(after)),
    ...rowChange(was, is),
    ...sandboxChanges(was, is),
    ...quietChanges(was, is),
  ]
}

/** Text that is given as JSON is another type to whoever reads it. */
function outwardColumns({ columns, definition }: Contract): ResultColumn[] {
  return columns.map((column) =>
    isJsonColumn(column, definition.json) ? { ...column, type: 'JSON' } : column,
  )
}

function nameChange(was: EndpointDefinition, is: EndpointDefinition): ContractChange[] {
  if (was.name === is.name) return []
  const message = `The endpoint is now called ${is.name}: calls to ${was.name} find nothing; those by id go on.`
  return [breaking('endpoint_renamed', message)]
}

function rowChange(was: EndpointDefinition, is: EndpointDefinition): ContractChange[] {
  if (was.max_rows === is.max_rows) return []
  const message = `A result now has at most ${is.max_rows} rows, and had ${was.max_rows}.`
  return [
    is.max_rows < was.max_rows
      ? breaking('max_rows_lowered', message)
      : compatible('max_rows_raised', message),
  ]
}

function sandboxChanges(was: EndpointDefinition, is: EndpointDefinition): ContractChange[] {
  if (was.sandbox && !is.sandbox) {
    return [breaking('sandbox_off', 'Callers can no longer send SQL of their own.')]
  }
  if (!was.sandbox && is.sandbox) {
    return [compatible('sandbox_on', 'Callers can now send SQL of their own over the views of the query.')]
  }
  if (!is.sandbox) return []
  const [then, now] = [viewsOf(was), viewsOf(is)]
  return [
    ...then
      .filter((view) => !now.includes(view))
      .map((view) => breaking('sandbox_view_removed', `The view ${view} is gone from the sandbox.`)),
    ...now
      .filter((view) => !then.includes(view))
      .map((view) => compatible('sandbox_view_added', `The view ${view} is new in the sandbox.`)),
  ]
}

function viewsOf({ query }: EndpointDefinition): string[] {
  return leadingWith(query)?.names ?? []
}

/** What no caller has to do anything about. */
function quietChanges(was: EndpointDefinition, is: EndpointDefinition): ContractChange[] {
  const changes: ContractChange[] = []
  if (was.query !== is.query) {
    changes.push(compatible('query_changed', 'The SQL is another one; values may differ.'))
  }
  if (was.cache_seconds !== is.cache_seconds) {
    const message = `Results are now ${kept(is.cache_seconds)}, and were ${kept(was.cache_seconds)}.`
    changes.push(compatible('cache_changed', message))
  }
  const renewal = ({ warm_seconds, incremental }: EndpointDefinition) =>
    JSON.stringify([warm_seconds, incremental])
  if (renewal(was) !== renewal(is)) {
    changes.push(compatible('cache_changed', 'Kept results are renewed in another way.'))
  }
  if (was.timeout_seconds !== is.timeout_seconds) {
    const message = `The query may now run for ${is.timeout_seconds} s, and could for ${was.timeout_seconds} s.`
    changes.push(compatible('timeout_changed', message))
  }
  if (was.description !== is.description) {
    changes.push(compatible('description_changed', 'The endpoint is described in other words.'))
  }
  return changes
}

function kept(seconds: number | null): string {
  return seconds === null ? 'not kept' : `kept for ${seconds} s`
}
