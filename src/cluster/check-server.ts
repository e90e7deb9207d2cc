import { withDeadline } from '../base/deadline.ts'
import type { ClickHouseClient } from '../engine/clickhouse-client.ts'
import { ClickHouseError, type ClickHouseHttp, type HttpRequest } from '../engine/clickhouse-http.ts'
import { neededGrants, quoteName } from '../engine/grants.ts'
import { queryRows, queryText } from '../engine/json-rows.ts'
import { isolationSettings } from '../sql/isolation.ts'
import { sqlText } from '../sql/names.ts'
import { cannotConnect, type ServerIdentity, ServerProblem } from './server-problem.ts'

const withinMs = 20_000
const pingWithinMs = 5_000
const maxResponseBytes = 2 ** 20

/** The oldest supported release, with long-term support. */
const oldestVersion = [25, 3] as const

/** Even a busy server responds to it. */
export async function pingServer(http: ClickHouseHttp, server: ServerIdentity): Promise<void> {
  await ask(http, server, { path: '/ping' }, pingWithinMs)
}

/** With as few settings as possible, so that an old server or a strict profile does not refuse it. */
async function ask(
  http: ClickHouseHttp,
  server: ServerIdentity,
  request: Pick<HttpRequest, 'body' | 'path'>,
  ms = withinMs,
): Promise<string> {
  return withDeadline(ms, undefined, async (signal) => {
    try {
      const { body } = await http.send({ ...request, maxResponseBytes, repeatable: true, signal })
      return body.toString().trimEnd()
    } catch (error) {
      if (error instanceof ClickHouseError) throw error
      throw cannotConnect(server, signal.aborted ? 'It does not respond.' : (error as Error).message)
    }
  })
}

/** Returns the version of a server that the service can use. */
export async function checkServer(http: ClickHouseHttp, server: ServerIdentity): Promise<string> {
  const version = await ask(http, server, { path: '/', body: Buffer.from('SELECT version()') })
  const [, major, minor] = /^(\d+)\.(\d+)\.[\w.-]+$/.exec(version)?.map(Number) ?? []
  if (major === undefined || minor === undefined)
    throw cannotConnect(server, 'HTTP status 200: what responds is not ClickHouse.')
  if (major < oldestVersion[0] || (major === oldestVersion[0] && minor < oldestVersion[1])) {
    const advice = `Upgrade it to ${oldestVersion.join('.')} or newer.`
    throw new ServerProblem(server, `ClickHouse ${version} is too old.`, advice)
  }
  if ((await ask(http, server, { body: Buffer.from("SELECT getSetting('readonly')") })) !== '0') {
    throw new ServerProblem(server, 'The ClickHouse user is read-only.', 'Set readonly to 0 in its profile.')
  }
  const grants = neededGrants(server.database, server.cluster)
  if ((await ask(http, server, { body: Buffer.from(`CHECK GRANT ${grants.join(', ')}`) })) !== '1') {
    const statements = grants.map((grant) => `GRANT ${grant} TO ${quoteName(server.user)}`)
    throw new ServerProblem(server, 'The ClickHouse user lacks a grant.', `Run: ${statements.join('; ')}`)
  }
  return version
}

/** The node responded to its check, so it is busy at most. */
const limits = { deadlineMs: 30_000 }

/** Returns the id of the database, after creating it on this node if it is missing. */
export async function openDatabase(client: ClickHouseClient, { database }: ServerIdentity): Promise<string> {
  const sql = 'SELECT uuid FROM system.databases WHERE name = {database:String}'
  const readId = () => queryText(client, { sql, parameters: { database } }, limits)
  const found = await readId()
  if (found !== '') return found
  await client.command({ sql: `CREATE DATABASE IF NOT EXISTS \`${database}\`` }, limits)
  return readId()
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

/** Settings that the server does not have: it refuses requests with them. */
export async function findUnknownSettings(client: ClickHouseClient): Promise<ReadonlySet<string>> {
  const sql = `SELECT name FROM system.settings WHERE name IN (${newer.map(sqlText).join(', ')})`
  const rows = await queryRows<{ name: string }>(client, { sql }, limits)
  const known = new Set(rows.map(({ name }) => name))
  return new Set(newer.filter((name) => !known.has(name)))
}
