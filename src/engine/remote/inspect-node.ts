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

/**
 * Creates the database where it is missing. If it exists, the other nodes of the cluster got it at the same time; to ask
 * them again would fail while one of them is away.
 */
export async function createDatabase(
  client: ClickHouseClient,
  { database, cluster }: { database: string; cluster?: string | undefined },
): Promise<void> {
  const { body } = await client.query(
    {
      sql: 'SELECT count() FROM system.databases WHERE name = {name:String}',
      parameters: { name: database },
      format: 'TabSeparatedRaw',
    },
    { deadlineMs: askWithinMs },
  )
  if (body.toString().trim() !== '0') return
  const where = cluster === undefined ? '' : ` ON CLUSTER \`${cluster}\``
  await client.command(
    { sql: `CREATE DATABASE IF NOT EXISTS \`${database}\`${where}` },
    { deadlineMs: createWithinMs },
  )
}

/** The isolation settings that the server does not have. It refuses requests with them, and lacks what they turn off. */
export async function findUnknownSettings(client: ClickHouseClient): Promise<ReadonlySet<string>> {
  const names = Object.keys(isolationSettings)
  const { body } = await client.query(
    {
      sql: `SELECT name FROM system.settings WHERE name IN (${names.map((name) => `'${name}'`).join(', ')})`,
      format: 'JSONEachRow',
    },
    { deadlineMs: askWithinMs },
  )
  const known = new Set(readJsonRows<{ name: string }>(body).map(({ name }) => name))
  return new Set(names.filter((name) => !known.has(name)))
}
