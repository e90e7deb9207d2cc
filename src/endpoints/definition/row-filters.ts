import { engineDatabase, sqlText } from '../../sql/names.ts'
import { sqlTokens } from '../../sql/tokens.ts'

/** Entries before one instant, or from another one on. */
export interface TimeRange {
  beforeMicros: bigint
  fromMicros: bigint
}

export interface RowFilter {
  project?: string | undefined
  range?: TimeRange | undefined
}

/**
 * Lets a query see only such rows, in whatever way it reads a source. For every name that could be one: a source that is
 * being deleted is no longer listed, and its table may still be there.
 */
export function onlyRows(tables: Iterable<string>, { project, range }: RowFilter) {
  const conditions: string[] = []
  if (project !== undefined) conditions.push(`project = ${sqlText(project)}`)
  if (range) {
    conditions.push(
      `(timestamp < ${instant(range.beforeMicros)} OR timestamp >= ${instant(range.fromMicros)})`,
    )
  }
  const condition = sqlText(conditions.join(' AND '))
  const filters = [...tables]
    // On a cluster the rows are in tables of their own behind those that queries name.
    .flatMap((source) => [`${engineDatabase}.${source}`, `${engineDatabase}.${source}_local`])
    .map((table) => `${sqlText(table)}:${condition}`)
  return { additional_table_filters: `{${filters.join(',')}}` }
}

function instant(micros: bigint): string {
  return `fromUnixTimestamp64Micro(${micros}, 'UTC')`
}

/** Words of SQL that have the form of a source's name. */
export function possibleSources(sql: string): Set<string> {
  const names = new Set<string>()
  for (const { start, end } of sqlTokens(sql)) {
    const word = sql.slice(start, end).replace(/^[`"](.*)[`"]$/, '$1')
    if (/^[a-z][a-z0-9_]{0,63}$/.test(word)) names.add(word)
  }
  return names
}
