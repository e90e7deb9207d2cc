import { StartProblem } from '../base/files/data-directory.ts'
import { sqlText } from '../sql/names.ts'

export class ForeignTable extends StartProblem {
  readonly reason: string
  readonly advice = 'Rename that table, or choose another database with WELLHEAD_CLICKHOUSE_DATABASE.'

  constructor(reason: string) {
    super(reason)
    this.reason = reason
    this.message = `${reason} ${this.advice}`
  }
}

type Columns = Readonly<Record<string, string>>

/** Names and types of the columns that every table of a source has. */
const entryColumns: Columns = {
  project: 'String',
  id: 'String',
  timestamp: "DateTime64(6, 'UTC')",
  event_message: 'String',
  metadata: 'String',
}

/** Columns of internal tables since their first version. */
const ownTables: Readonly<Record<string, Columns>> = {
  _migrations: { id: 'UInt32', at: "DateTime64(6, 'UTC')" },
  _catalog: {
    kind: 'LowCardinality(String)',
    id: 'String',
    version: 'UInt32',
    changed_at: "DateTime64(6, 'UTC')",
    changed_by: 'String',
    deleted: 'Bool',
    body: 'String',
  },
  _idempotency: { key: 'String', at: "DateTime64(6, 'UTC')", answer: 'String' },
  _token_uses: { id: 'String', at: "DateTime64(3, 'UTC')" },
  _alerts: { id: 'String', sequence: 'UInt64', body: 'String' },
}

interface Expected {
  engine: 'MergeTree' | 'Distributed'
  columns: Columns
}

interface FoundTable {
  database: string
  table: string
  engine: string
  columns: [name: string, type: string][]
}

type Read = <Row>(sql: string) => Promise<Row[]>

/** Throws if a table of this name was created by somebody else: CREATE TABLE IF NOT EXISTS would use it silently. */
export async function refuseForeignTables(
  read: Read,
  sources: readonly string[],
  cluster: string | undefined,
): Promise<void> {
  const expected = new Map<string, Expected>()
  for (const name of sources) {
    const stored = { engine: 'MergeTree', columns: entryColumns } as const
    if (cluster !== undefined) expected.set(`${name}_local`, stored)
    expected.set(name, cluster === undefined ? stored : { ...stored, engine: 'Distributed' })
  }
  await refuseOthers(read, expected)
}

export async function refuseForeignOwnTables(read: Read): Promise<void> {
  const expected = Object.entries(ownTables).map(([name, columns]) => [
    name,
    { engine: 'MergeTree', columns } as const,
  ])
  await refuseOthers(read, new Map(expected as [string, Expected][]))
}

async function refuseOthers(read: Read, expected: ReadonlyMap<string, Expected>): Promise<void> {
  if (expected.size === 0) return
  const names = [...expected.keys()].map(sqlText).join(', ')
  const found = await read<FoundTable>(
    'SELECT t.database AS database, t.name AS table, any(t.engine) AS engine, groupArray((c.name, c.type)) AS columns ' +
      'FROM system.tables AS t INNER JOIN system.columns AS c ON c.database = t.database AND c.table = t.name ' +
      `WHERE t.database = currentDatabase() AND t.name IN (${names}) GROUP BY t.database, t.name ORDER BY t.name`,
  )
  for (const { database, table, engine, columns } of found) {
    const difference = findDifference(expected.get(table) as Expected, engine, new Map(columns))
    if (difference !== undefined) {
      throw new ForeignTable(`Table ${database}.${table} has another schema: ${difference}.`)
    }
  }
}

function findDifference(
  expected: Expected,
  engine: string,
  columns: ReadonlyMap<string, string>,
): string | undefined {
  if (!engine.endsWith(expected.engine)) return `its engine is ${engine}, not ${expected.engine}`
  for (const [name, type] of Object.entries(expected.columns)) {
    const found = columns.get(name)
    if (found === undefined) return `column ${name} is missing`
    if (found !== type) return `column ${name} is ${found}, not ${type}`
  }
  return undefined
}
