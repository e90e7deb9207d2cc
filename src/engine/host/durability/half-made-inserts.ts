import { quote } from '../statement.ts'
import { covers, parsePart } from './insert-log.ts'

/** What is asked here of a session. */
interface Asked {
  run(sql: string, format: string): Promise<{ bytes: Uint8Array }>
}

/**
 * The engine writes down the token of an insert before it puts the rows in place. Where the latter fails, it takes the
 * same insert, tried again, for one that it has: it would say that it is stored, and drop it. Tells whether one of these
 * parts, which the log of a table names, is not there.
 */
export async function isHalfMade(named: readonly string[], table: string, session: Asked): Promise<boolean> {
  if (named.length === 0) return false
  const [name, database] = table.split('.').reverse()
  const of = database === undefined ? 'currentDatabase()' : quote(database)
  const { bytes } = await session.run(
    `SELECT name FROM system.parts WHERE active AND database = ${of} AND table = ${quote(name ?? '')}`,
    'TSVRaw',
  )
  const active = Buffer.from(bytes)
    .toString()
    .split('\n')
    .flatMap((part) => parsePart(part) ?? [])
  return named.some((name) => {
    const part = parsePart(name)
    return part !== undefined && !active.some((larger) => covers(larger, part))
  })
}
