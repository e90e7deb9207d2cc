import { engineDatabase } from '../engine/engine.ts'

/**
 * Conditions of a query may fail, and that they fail tells something of the row. So no condition may see a row
 * that an inner filter would have taken away: the engine must neither merge the two nor read ahead with the outer
 * one. PREWHERE, which would, is not allowed in saved SQL.
 */
export const filtersInOrder = { optimize_move_to_prewhere: 0, query_plan_merge_filters: 0 } as const

/** Lets a query see rows of one project only, in whatever way it reads a source. */
export function onlyProject(project: string, sources: Iterable<string>): Record<string, string | number> {
  const condition = `project = ${literal(project)}`
  const filters = [...sources]
    // On a cluster the rows are in tables of their own behind those that queries name.
    .flatMap((source) => [`${engineDatabase}.${source}`, `${engineDatabase}.${source}_local`])
    .map((table) => `${literal(table)}:${literal(condition)}`)
  return { ...filtersInOrder, additional_table_filters: `{${filters.join(',')}}` }
}

function literal(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
