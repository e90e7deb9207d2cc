import { expect, test } from 'vitest'
import { queryText } from '../../src/core/engine/json-rows.ts'
import {
  connect,
  databaseForService,
  dropDatabase,
  leaveDatabase,
  newDatabase,
  ownServer,
  rememberTables,
} from './worker-server.ts'

const limits = { deadlineMs: 60_000 }

test('a database that is handed on does not remember inserts whose rows its last service deleted', async () => {
  const server = await newDatabase(await ownServer())
  const table = 'CREATE TABLE handed_on (n UInt32) ENGINE = MergeTree ORDER BY n'
  const insert = { table: 'handed_on', format: 'JSONEachRow' } as const
  const settings = { insert_deduplication_token: 'one' }
  const engine = await connect(server)
  const sql = `${table} SETTINGS non_replicated_deduplication_window = 100`
  await engine.command({ sql }, limits)
  const used = await rememberTables(server)
  await engine.insert({ ...insert, settings }, Buffer.from('{"n":1}'), limits)
  const deletion = 'ALTER TABLE handed_on DELETE WHERE true'
  await engine.command({ sql: deletion, settings: { mutations_sync: 2 } }, limits)
  await engine.close()
  await leaveDatabase(used)

  const next = await databaseForService()
  expect(next.database).toBe(server.database)
  const other = await connect(next)
  await other.insert({ ...insert, settings }, Buffer.from('{"n":2}'), limits)
  expect(await queryText(other, { sql: 'SELECT groupArray(n) FROM handed_on' }, limits)).toBe('[2]')
  await other.close()
  await dropDatabase(next)
})
