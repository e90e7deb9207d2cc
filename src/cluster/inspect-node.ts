import type { ClickHouseClient } from '../engine/clickhouse-client.ts'
import { queryRows, queryText } from '../engine/json-rows.ts'
import { isolationSettings } from '../sql/isolation.ts'
import { sqlText } from '../sql/names.ts'
import { explainServerError, type ServerIdentity, ServerProblem } from './server-problem.ts'

/** The node responded to its check, so it is busy at most. */
const limits = { deadlineMs: 30_000 }

/** Returns the id of the database, after creating it on this node if it is missing. Only that needs a grant. */
export async function openDatabase(client: ClickHouseClient, server: ServerIdentity): Promise<string> {
  const found = await databaseId(client, server)
  if (found !== '') return found
  await createDatabase(client, server)
  return databaseId(client, server)
}

function databaseId(client: ClickHouseClient, { database }: ServerIdentity): Promise<string> {
  const sql = 'SELECT uuid FROM system.databases WHERE name = {database:String}'
  return queryText(client, { sql, parameters: { database } }, limits)
}

async function createDatabase(client: ClickHouseClient, server: ServerIdentity): Promise<void> {
  const { database } = server
  const sql = `CREATE DATABASE IF NOT EXISTS \`${database}\``
  await client.command({ sql }, limits).catch((error: Error) => {
    const [line = ''] = error.message.split('\n')
    const reason = `ClickHouse cannot create the database ${database}: ${line.replace(/\.$/, '')}.`
    throw (
      explainServerError(error, server) ??
      new ServerProblem(server, [reason, `Run as an administrator: ${sql}`])
    )
  })
}

/** Whether the node lacks a table that another node of its cluster has: it is new, or it lost its data. */
export async function lacksTable(
  client: ClickHouseClient,
  { database, cluster }: ServerIdentity,
  table: string,
): Promise<boolean> {
  if (cluster === undefined) return false
  const count = async (tables: string) => {
    const sql = `SELECT count() FROM ${tables} WHERE database = {database:String} AND name = {table:String}`
    const settings = { skip_unavailable_shards: 1 }
    return Number(await queryText(client, { sql, parameters: { database, table }, settings }, limits))
  }
  if ((await count('system.tables')) > 0) return false
  return (await count(`clusterAllReplicas(${sqlText(cluster)}, system.tables)`)) > 0
}

/** Settings of which some are newer than the oldest release. */
const newer = [
  ...Object.keys(isolationSettings),
  'json_type_escape_dots_in_keys',
  'query_plan_optimize_lazy_materialization',
]

/** Those that the server does not have. It refuses requests with them, and lacks what they change. */
export async function findUnknownSettings(client: ClickHouseClient): Promise<ReadonlySet<string>> {
  const sql = `SELECT name FROM system.settings WHERE name IN (${newer.map(sqlText).join(', ')})`
  const rows = await queryRows<{ name: string }>(client, { sql }, limits)
  const known = new Set(rows.map(({ name }) => name))
  return new Set(newer.filter((name) => !known.has(name)))
}
