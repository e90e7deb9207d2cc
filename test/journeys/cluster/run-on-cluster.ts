import { test } from 'vitest'
import { longForms, openServer, remoteCredentials } from '../../support/engines.ts'
import { runOn } from '../server/run-on.ts'

/** Runs the journeys of this file on a cluster of one node, in the form that tables and statements have on a cluster. */
export function runOnCluster(): void {
  runOn(async () => {
    const cluster = 'main'
    const { url, close } = await openServer({ cluster })
    const { user, password } = remoteCredentials
    const address = Object.assign(new URL(url), { username: user, password: encodeURIComponent(password) })
    return { url: address.href, cluster, close }
  })
}

/** Runs the journeys of another file on a cluster in the long form, and otherwise skips them visibly. */
export async function repeatOnCluster(load: () => Promise<unknown>): Promise<void> {
  if (!longForms) {
    test.skip('use npm run torture -- journeys to run these journeys on a cluster', () => {})
    return
  }
  runOnCluster()
  await load()
}
