import { afterAll, beforeAll } from 'vitest'
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

/** Runs the journeys of another file, whose services have an embedded engine, on the worker's server. */
export async function repeatOnServer(path: string): Promise<void> {
  runOn(workerServer)
  await loadAgain(path, 'server')
}

/** Loads a file of journeys that may have run in this process already, as another module. */
export async function loadAgain(path: string, on: string): Promise<void> {
  await import(`${path}?on=${on}`)
}
