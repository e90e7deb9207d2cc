import { test } from 'vitest'
import { longForms } from '../../support/engines.ts'
import { ownCluster, ownServer } from '../../support/worker-server.ts'
import { loadAgain, runOn } from '../server/run-on.ts'

/** Runs the journeys of this file on a cluster of one node, in the form that tables and statements have on a cluster. */
export function runOnCluster(): void {
  runOn(async () => ({ ...(await ownServer()), cluster: ownCluster }))
}

/** Runs the journeys of another file on a cluster in the long form, and otherwise skips them visibly. */
export async function repeatOnCluster(path: string): Promise<void> {
  if (!longForms) {
    test.skip('use npm run torture -- journeys to run these journeys on a cluster', () => {})
    return
  }
  runOnCluster()
  await loadAgain(path, 'cluster')
}
