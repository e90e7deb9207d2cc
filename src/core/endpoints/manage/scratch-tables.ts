import { randomBytes } from 'node:crypto'
import { WellheadError } from '../../base/errors.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Topology } from '../../engine/cluster/topology.ts'
import type { Engine, Statement } from '../../engine/engine.ts'
import { dropTable } from '../../engine/tables.ts'
import { editSql } from '../../sql/edits.ts'
import { sqlName } from '../../sql/names.ts'
import { Query } from '../../sql/query.ts'
import { identifierOf, isKeyword } from '../../sql/tokens.ts'

/** A table that does not exist yet, or that lacks columns. */
export interface ScratchTable {
  name: string
  create(name: string, topology: Topology): string
}

/** Empty tables like those of sources and tables that do not exist yet, or that lack columns. Its engine describes SQL as if they existed. */
export async function createScratchTables(
  catalog: Catalog,
  engine: Pick<Engine, 'query'>,
  missing: readonly ScratchTable[],
) {
  // No source can have such a name.
  const prefix = `scratch_${Date.now()}_${randomBytes(8).toString('hex')}`
  const names = new Map(missing.map(({ name }, index) => [name, `${prefix}_${index}_local`]))
  const remove = async () => {
    for (const name of names.values()) await catalog.run([dropTable(name, catalog.topology)]).catch(() => {})
  }
  try {
    for (const { name, create } of missing) {
      await catalog.run([create(names.get(name) as string, catalog.topology)])
    }
  } catch (error) {
    await remove()
    throw error
  }
  return { engine: scratchEngine(engine, names), remove }
}

/** Describes SQL as if it read other tables. */
export function scratchEngine(engine: Pick<Engine, 'query'>, names: ReadonlyMap<string, string>) {
  const query = (statement: Statement, limits: Parameters<Engine['query']>[1]) => {
    if (!statement.sql.startsWith('DESCRIBE')) return engine.query(statement, limits)
    return engine.query({ ...statement, sql: readingFrom(names, statement.sql) }, limits).catch((error) => {
      throw withNames(error, names)
    })
  }
  return { query }
}

/** The SQL with other tables in the place of sources. */
function readingFrom(tables: ReadonlyMap<string, string>, sql: string): string {
  const { tokens, selects } = new Query(sql)
  const read = selects.flatMap(({ tables }) => tables)
  const edits = read.flatMap(({ name, alias, at }) => {
    const table = name === undefined ? undefined : tables.get(name)
    const token = tokens[at]
    if (table === undefined || !token) return []
    const isNamed = identifierOf(tokens[isKeyword(tokens[at + 1], 'AS') ? at + 2 : at + 1]) === name
    const text = alias === name && !isNamed ? `${table} AS ${sqlName(name as string)}` : table
    return [{ start: token.start, end: token.end, text }]
  })
  return editSql(sql, edits).text
}

function withNames(error: unknown, names: ReadonlyMap<string, string>): unknown {
  if (!(error instanceof WellheadError)) return error
  let { message } = error
  for (const [source, table] of names) message = message.replaceAll(table, source)
  return new WellheadError(error, message, { details: error.details, cause: error.cause })
}
