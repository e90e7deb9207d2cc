import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  failingReaders,
  listReaders,
  nestedReaders,
  readers,
  tableReaders,
} from '../../test/journeys/access/ways-to-read.ts'
import { hostileQueries } from '../../test/journeys/endpoints/hostile-queries.ts'
import { hostileSandbox } from '../../test/journeys/endpoints/hostile-sandbox.ts'

const shipped = fileURLToPath(new URL('../../shipped/endpoints', import.meta.url))

/** Saved SQL to mutate: shipped endpoints, queries of the tenant tests, and statements that must be refused. */
export function savedStatements(): string[] {
  const files = readdirSync(shipped).filter((file) => file.endsWith('.sql'))
  return [
    ...files.map((file) => readFileSync(`${shipped}/${file}`, 'utf8').replace(/^\/\*[\s\S]*?\*\//, '')),
    ...readers,
    ...failingReaders,
    ...tableReaders,
    ...nestedReaders,
    ...listReaders,
    ...hostileQueries,
  ]
}

export function sandboxedStatements(): string[] {
  return [
    ...Object.values(hostileSandbox).flat(),
    'SELECT * FROM entries',
    'SELECT project, count() AS n FROM entries GROUP BY project ORDER BY n DESC LIMIT 3',
    'SELECT a.id FROM entries AS a JOIN entries AS b ON a.id = b.id WHERE a.event_message LIKE @project',
  ]
}
