import { StartProblem } from '../../base/files/data-directory.ts'
import { isolationSettings } from '../../sql/isolation.ts'
import type { ClickHouseClient } from '../clickhouse-client.ts'
import { readJsonRows } from '../json-rows.ts'

/** The oldest supported release of ClickHouse. */
const oldest = [25, 3] as const

const askWithinMs = 5_000
const createWithinMs = 30_000

/** Throws if the version is not supported. */
export async function askVersion(client: ClickHouseClient): Promise<string> {
  const { body } = await client.query(
    { sql: 'SELECT version()', format: 'TabSeparatedRaw' },
    { deadlineMs: askWithinMs },
  )
  const version = body.toString().trim()
  const [year = 0, month = 0] = version.split('.').map(Number)
  if (year < oldest[0] || (year === oldest[0] && month < oldest[1])) {
    const needed = oldest.join('.')
    throw new StartProblem(
      `ClickHouse ${year}.${month} is too old: Wellhead needs ${needed} or later. Upgrade the server.`,
    )
  }
  return version
}

/** Creates the database on this node. The check needs no grant to create one that exists. */
export async function createDatabase(client: ClickHouseClient, database: string): Promise<void> {
  const { body } = await client.query(
    {
      sql: 'SELECT count() FROM system.databases WHERE name = {name:String}',
      parameters: { name: database },
      format: 'TabSeparatedRaw',
    },
    { deadlineMs: askWithinMs },
  )
  if (body.toString().trim() !== '0') return
  await client.command(
    { sql: `CREATE DATABASE IF NOT EXISTS \`${database}\`` },
    { deadlineMs: createWithinMs },
  )
}

/** Settings of which some are newer than the oldest release. */
const newer = [...Object.keys(isolationSettings), 'json_type_escape_dots_in_keys']

/** Those that the server does not have. It refuses requests with them, and lacks what they change. */
export async function findUnknownSettings(client: ClickHouseClient): Promise<ReadonlySet<string>> {
  const { body } = await client.query(
    {
      sql: `SELECT name FROM system.settings WHERE name IN (${newer.map((name) => `'${name}'`).join(', ')})`,
      format: 'JSONEachRow',
    },
    { deadlineMs: askWithinMs },
  )
  const known = new Set(readJsonRows<{ name: string }>(body).map(({ name }) => name))
  return new Set(newer.filter((name) => !known.has(name)))
}
