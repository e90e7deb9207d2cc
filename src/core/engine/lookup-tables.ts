import type { TableColumn } from '../../shared/column-types.ts'
import { retiredName, tenantColumn } from '../sql/isolation.ts'
import { sqlName, sqlText } from '../sql/names.ts'
import { onCluster, type Topology } from './cluster/topology.ts'
import { dropTable } from './tables.ts'

const types = {
  text: 'String',
  number: 'Float64',
  boolean: 'Bool',
  timestamp: "DateTime64(6, 'UTC')",
} as const

export const engineTypeOf = ({ type }: TableColumn) => `Nullable(${types[type]})`

/**
 * Tables that users fill. The tenant of a row has a character before it; `*`: it belongs to nobody. Each table has that column, so
 * that the filter of tenants is the same for every table: it holds for the rows that are there, however they were replaced
 * meanwhile. On a cluster, every node has all of their rows, so that joins read them locally.
 */
export function createLookupTable(
  name: string,
  columns: readonly TableColumn[],
  id: string,
  { database, replicated, cluster }: Topology,
): string {
  const own = columns.map((column) => `${sqlName(column.name)} ${engineTypeOf(column)}`)
  const tenant = columns.some((column) => column.name === 'project')
    ? "ifNull(concat('=', project), '')"
    : "'*'"
  const path = `/clickhouse/tables/${database}/${id}`
  const engine = replicated ? `ReplicatedMergeTree('${path}', '{shard}-{replica}')` : 'MergeTree'
  return (
    `CREATE TABLE IF NOT EXISTS ${database}.${sqlName(name)}${onCluster({ database, replicated, cluster })} ` +
    `(${[...own, `${tenantColumn} LowCardinality(String) MATERIALIZED ${tenant}`].join(', ')}) ` +
    `ENGINE = ${engine} ORDER BY tuple() COMMENT ${sqlText(`table ${JSON.stringify(columns)}`)}`
  )
}

/** The rows of one table as those of another with other columns. What does not fit becomes null. */
export function convertLookupRows(
  from: string,
  to: string,
  before: readonly TableColumn[],
  after: readonly TableColumn[],
): string {
  const values = after.map((column) => {
    const old = before.find(({ name }) => name === column.name)
    if (!old) return 'NULL'
    if (old.type === column.type) return sqlName(old.name)
    return `accurateCastOrNull(toString(${sqlName(old.name)}), ${sqlText(types[column.type])})`
  })
  const names = after.map(({ name }) => sqlName(name))
  return `INSERT INTO ${sqlName(to)} (${names.join(', ')}) SELECT ${values.join(', ')} FROM ${sqlName(from)}`
}

/** Puts a table in the place of another in one step. The old rows are left under a name that the filters of tenants know. */
export function switchTables(name: string, beside: string, topology: Topology): string[] {
  const { database } = topology
  const [table, retired] = [name, retiredName(name)].map((each) => `${database}.${sqlName(each)}`)
  const onAll = onCluster(topology)
  return [
    dropTable(retiredName(name), topology),
    `RENAME TABLE ${database}.${sqlName(beside)} TO ${retired}${onAll}`,
    `EXCHANGE TABLES ${table} AND ${retired}${onAll}`,
  ]
}

/** Names and columns of the tables that exist, also of those that are not complete. */
export const readLookupTables =
  "SELECT name, substring(comment, 7) AS columns FROM system.tables WHERE database = currentDatabase() AND startsWith(comment, 'table [')"

/** Counts the nodes that respond and lack the table or some of its rows. Undefined if there are no other nodes. */
export function countLackingRows(
  name: string,
  rows: number,
  { cluster, database }: Topology,
): string | undefined {
  if (cluster === undefined) return undefined
  return (
    `SELECT countIf(isNull(found) OR found < ${rows}) AS lacking FROM (` +
    `SELECT hostName() AS node, anyIf(total_rows, name = ${sqlText(name)} AND database = ${sqlText(database)}) AS found ` +
    `FROM clusterAllReplicas(${sqlText(cluster)}, system.tables) GROUP BY node) SETTINGS skip_unavailable_shards = 1`
  )
}
