import { sqlText } from './names.ts'

/** Without them, a function could run on a row that an inner condition filters out, fail, and reveal what is in it. */
export const filterOrderSettings = { query_plan_merge_filters: 0, enable_join_runtime_filters: 0 } as const

/**
 * For queries whose caller must not learn anything about rows outside the filter: requests of a tenant, and SQL that a
 * caller sends. Whatever the engine knows about a part, a granule or an earlier query covers the rows of all tenants, so
 * it must not use that to skip work or to answer.
 *
 * Still in use, because a caller can learn from them only by timing: the primary key and the partitions, without which
 * every query would read everything (they reveal at most when others stored entries, never what), PREWHERE and top-k
 * filters, which check rows one by one, and the caches of marks and blocks.
 */
export const isolationSettings = {
  ...filterOrderSettings,
  // An n-gram index tells whether a text occurs in a granule, whoever stored it there.
  use_skip_indexes: 0,
  // The two ways of using an index that have settings of their own.
  use_skip_indexes_if_final: 0,
  use_skip_indexes_on_data_read: 0,
  // Remembers which granules a condition matched, for whoever uses the same condition next.
  use_query_condition_cache: 0,
  // A server's profile can turn it on, and it must not return a result of another tenant.
  use_query_cache: 0,
  // Smallest, largest and distinct values of each column of a part; pruning by them has a setting of its own.
  use_statistics: 0,
  use_statistics_for_part_pruning: 0,
  // Precomputed counts, smallest and largest values of a part, and copies of it in another order.
  optimize_use_projections: 0,
  optimize_use_implicit_projections: 0,
  // Counts of all rows, from the metadata of a part.
  optimize_trivial_count_query: 0,
  // Sizes of hash tables of the same SQL, run by another tenant, decide how much memory is reserved and how tables are joined.
  collect_hash_table_stats_during_aggregation: 0,
  collect_hash_table_stats_during_joins: 0,
  use_hash_table_stats_for_join_reordering: 0,
} as const

/**
 * Settings for SQL that a caller sends. The engine checks the time limit between blocks of rows, not inside a function,
 * so each block must be quick: searching a 1 MB constant for each of 256 rows takes some hundredths of a second, for the
 * usual 65,409 rows far too long. A block is also the least of a result that is in memory before its size is checked.
 */
export const callerSqlSettings = {
  max_block_size: 256,
  max_memory_usage: 2 ** 30,
  function_range_max_elements_in_block: 10_000_000,
} as const

/** Entries before one instant, or from another one on if there is one. */
export interface TimeRange {
  beforeMicros: bigint
  fromMicros?: bigint
}

interface RowFilter {
  project?: string | undefined
  range?: TimeRange | undefined
  /** Rows before this instant are older than the plan of the project shows. */
  sinceMicros?: bigint | undefined
  /** Condition of a table for the rows that nobody may see anymore; undefined: none. */
  hidden?: HiddenRows | undefined
  /** Tables that users fill. */
  tables?: Iterable<string>
  /** Whether rows of these tables that belong to nobody show. */
  showsShared?: boolean
}

/** Of the rows of a project, if one is named. */
export type HiddenRows = (table: string, project: string | undefined) => string | undefined

/** Rows that are hidden for one reason or another. Undefined if there are none, so that queries have no filter. */
export function hiddenByAny(...all: readonly (HiddenRows | undefined)[]): HiddenRows | undefined {
  const some = all.filter((hidden) => hidden !== undefined)
  if (some.length < 2) return some[0]
  return (table, project) => {
    const terms = some.flatMap((hidden) => hidden(table, project) ?? [])
    return terms.length === 0 ? undefined : terms.map((sql) => `(${sql})`).join(' OR ')
  }
}

/** Tables that users fill have the tenant of each row in a column of its own, since not all of them have a project. */
export const tenantColumn = '_tenant'

/** Restricts a query to some rows of each source and table. Tables of sources that are being deleted may still exist. */
export function rowFilterSettings(database: string, sources: Iterable<string>, filter: RowFilter) {
  const { project, tables = [], showsShared = true } = filter
  const filters = rowFilters(sources, filter)
  if (project === undefined) return tableFilterSettings(database, filters)
  const own = sqlText(`=${project}`)
  const condition = showsShared ? `${tenantColumn} IN ('*', ${own})` : `${tenantColumn} = ${own}`
  for (const table of [...tables].flatMap(namesOfTable)) filters.push([table, condition])
  return tableFilterSettings(database, filters)
}

/**
 * The name that a table has while its rows are replaced, and afterwards the old rows. The engine finds a table by the name in the
 * query, and then its filter by the name that the table has by that time.
 */
export const retiredName = (table: string) => `_table_0_${table}`

export const namesOfTable = (table: string) => [table, retiredName(table)]

function rowFilters(sources: Iterable<string>, filter: RowFilter): (readonly [string, string])[] {
  const { project, range, sinceMicros, hidden } = filter
  const conditions: string[] = []
  if (project !== undefined) conditions.push(`project = ${sqlText(project)}`)
  if (sinceMicros !== undefined) conditions.push(`timestamp >= ${instantSql(sinceMicros)}`)
  if (range) {
    const { beforeMicros, fromMicros } = range
    const before = `timestamp < ${instantSql(beforeMicros)}`
    conditions.push(
      fromMicros === undefined ? before : `(${before} OR timestamp >= ${instantSql(fromMicros)})`,
    )
  }
  return [...sources].flatMap((table) => {
    const gone = hidden?.(table, project)
    const condition = [...conditions, ...(gone === undefined ? [] : [`NOT (${gone})`])].join(' AND ')
    // On a cluster, the rows are in local tables behind those that queries name.
    return condition === '' ? [] : [table, `${table}_local`].map((name) => [name, condition] as const)
  })
}

const dayMicros = 86_400_000_000n

/** The instant from which on a plan shows entries. */
export function retainedSince(days: number | undefined, nowMs: number): bigint | undefined {
  return days === undefined ? undefined : BigInt(Math.floor(nowMs)) * 1000n - BigInt(days) * dayMicros
}

/** Condition for entries that a retention of some days hides at a time. */
export function olderSql(days: number, nowMs: number): string {
  return `timestamp < fromUnixTimestamp64Milli(${Math.floor(nowMs) - days * 86_400_000}, 'UTC')`
}

/** Names the database, because other nodes of a cluster have another default. */
export function tableFilterSettings(database: string, conditions: readonly (readonly [string, string])[]) {
  if (conditions.length === 0) return {}
  const filters = conditions.map(([table, sql]) => `${sqlText(`${database}.${table}`)}:${sqlText(sql)}`)
  return { additional_table_filters: `{${filters.join(',')}}` }
}

export function instantSql(micros: bigint): string {
  return `fromUnixTimestamp64Micro(${micros}, 'UTC')`
}
