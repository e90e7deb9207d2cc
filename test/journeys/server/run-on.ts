import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, test } from 'vitest'
import { topologyOf } from '../../../src/cluster/cluster-engine.ts'
import { openEngine, type SharedServer, sharedServer, shareServer } from '../../support/engines.ts'

interface OpenedServer extends Omit<SharedServer, 'database'> {
  close?(): Promise<void>
}

let chosen = false

/** Runs the journeys of this file on one server, in a database that is dropped at the end. The first choice counts. */
export function runOn(open: () => Promise<OpenedServer>): void {
  if (chosen) return
  chosen = true
  let server: OpenedServer | undefined
  beforeAll(async () => {
    server = await open()
    const { url, cluster } = server
    shareServer({ url, cluster, database: `wellhead_test_${randomBytes(6).toString('hex')}` })
  })
  // Hooks of a file end in reverse order, so all services are closed by now.
  afterAll(async () => {
    if (sharedServer() !== undefined) {
      const { engine, close } = await openEngine()
      const { database, cluster, replicated } = topologyOf(engine)
      const where = replicated ? ` ON CLUSTER \`${cluster}\`` : ''
      const sql = `DROP DATABASE IF EXISTS \`${database}\`${where} SYNC`
      await engine.command({ sql }, { deadlineMs: 60_000 }).finally(close)
    }
    await server?.close?.()
    // Other files may follow in this process.
    shareServer(undefined)
    chosen = false
  })
}

/** Runs the journeys of another test file on the server that the environment names, or skips them visibly. */
export async function runOnGivenServer(load: () => Promise<unknown>): Promise<void> {
  const { WELLHEAD_TEST_CLICKHOUSE_URL: url, WELLHEAD_TEST_CLICKHOUSE_CLUSTER: cluster } = process.env
  if (!url) {
    test.skip('set WELLHEAD_TEST_CLICKHOUSE_URL to run these journeys on a ClickHouse server', () => {})
    return
  }
  runOn(async () => ({ url, cluster: cluster || undefined }))
  await load()
}
