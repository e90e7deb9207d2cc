import { afterAll, beforeAll, test } from 'vitest'
import { longForms } from '../../support/engines.ts'
import {
  dropDatabase,
  newDatabase,
  type SharedServer,
  sharedServer,
  shareServer,
  workerServer,
} from '../../support/worker-server.ts'

let chosen = false

/** Runs the journeys of this file on one server, in a database that is dropped at the end. The first choice counts. */
export function runOn(open: () => Promise<Omit<SharedServer, 'database'>>): void {
  if (chosen) return
  chosen = true
  beforeAll(async () => shareServer(await newDatabase(await open())))
  // Hooks of a file end in reverse order, so all services are closed by now.
  afterAll(async () => {
    const database = sharedServer()
    if (database) await dropDatabase(database)
    // Other files may follow in this process.
    shareServer(undefined)
    chosen = false
  })
}

/**
 * Runs the journeys of another file, whose services have an embedded engine, on a server: one that the environment names,
 * or in the long form that of the worker. Otherwise skips them visibly, because it is the same engine and the same client.
 */
export async function repeatOnServer(path: string): Promise<void> {
  if (!longForms && process.env.WELLHEAD_TEST_CLICKHOUSE_URL === undefined) {
    test.skip('set WELLHEAD_TEST_CLICKHOUSE_URL to run these journeys on a server', () => {})
    return
  }
  runOn(workerServer)
  await loadAgain(path, 'server')
}

/** Loads a file of journeys that may have run in this process already, as another module. */
export async function loadAgain(path: string, on: string): Promise<void> {
  await import(`${path}?on=${on}`)
}
