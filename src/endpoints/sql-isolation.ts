/**
 * Settings for queries in which one part must not see what another filters out: those of a tenant, whose filter the
 * engine adds, and those with SQL of a caller over the views of an endpoint. The engine would join the conditions of
 * both into one and check the cheapest first, and it would check those of a join while it reads. A function of the outer
 * part could then fail on a row that the inner part keeps from it, and say what is in that row.
 */
export const isolationSettings = { query_plan_merge_filters: 0, enable_join_runtime_filters: 0 } as const

/**
 * Settings for SQL that a caller sends. The engine looks for the time limit between blocks of rows, not inside of a
 * function, so a block must not hold more work than is done in a moment: a thousand rows that are each searched for in a
 * constant of a megabyte are a tenth of a second, and the usual 65,409 rows are not.
 */
export const callerSqlSettings = {
  max_block_size: 1024,
  function_range_max_elements_in_block: 10_000_000,
} as const
