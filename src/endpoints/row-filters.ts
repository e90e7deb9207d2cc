import { engineDatabase } from '../engine/engine.ts'
import { isolationSettings } from './sql-isolation.ts'

/** Entries before one instant, or from another one on. */
export interface TimeRange {
  beforeMicros: bigint
  fromMicros: bigint
}

export interface RowFilter {
  project?: string | undefined
  range?: TimeRange | undefined
}

/** Lets a query see only such rows, in whatever way it reads a source. */
export function onlyRows(sources: Iterable<string>, { project, range }: RowFilter) {
  const conditions: string[] = []
  if (project !== undefined) conditions.push(`project = ${literal(project)}`)
  if (range) {
    conditions.push(
      `(timestamp < ${instant(range.beforeMicros)} OR timestamp >= ${instant(range.fromMicros)})`,
    )
  }
  const condition = literal(conditions.join(' AND '))
  const filters = [...sources]
    // On a cluster the rows are in tables of their own behind those that queries name.
    .flatMap((source) => [`${engineDatabase}.${source}`, `${engineDatabase}.${source}_local`])
    .map((table) => `${literal(table)}:${condition}`)
  return { ...isolationSettings, additional_table_filters: `{${filters.join(',')}}` }
}

function instant(micros: bigint): string {
  return `fromUnixTimestamp64Micro(${micros}, 'UTC')`
}

function literal(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
