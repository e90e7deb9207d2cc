import { spawnSync } from 'node:child_process'
import { openPlain } from '../faults/mounted-service.ts'
import { storedIds } from '../load/counting.ts'
import { MixedLoad } from '../load/mixed-load.ts'
import { patienceMs } from '../support/patience.ts'
import type { Scenario } from '../support/scenario.ts'
import { waitForRecovery } from '../support/wait-for-recovery.ts'

const project = 'refusedwrites'

export const refusedWrites: Scenario = {
  name: 'writes',
  title: 'entries that were not written are not acknowledged, even if the engine reports success',
  needs: () => (spawnSync('prlimit', ['--version']).error ? 'needs prlimit (Debian: util-linux)' : undefined),
  async run(run) {
    const rounds = run.cycles(10, 1)
    const { target } = await run.share('disk', openPlain)
    const options = { target, project, senders: run.size(4, 2), deploying: false, visibleEntriesStay: false }
    return MixedLoad.during(options, async (load) => {
      const refusals = () => load.countResponses((status) => status !== '200')
      for (let round = 0; round < rounds; round++) {
        await load.waitForBatches(2, patienceMs)
        const before = refusals()
        const { enginePid } = target
        // No file of this engine can grow any more. Logs are refused or wait for the next engine.
        spawnSync('prlimit', ['--pid', String(enginePid), '--fsize=0:'])
        const isNoticed = () => refusals() > before || target.enginePid !== enginePid
        await load.waitFor(isNoticed, patienceMs, 'no log was refused and the engine did not restart')
        // If the engine did not restart.
        spawnSync('prlimit', ['--pid', String(enginePid), '--fsize=unlimited:'])
        await load.waitForBatches(2, patienceMs)
        await waitForRecovery(target, patienceMs)
      }
      const { counts, faults } = await load.stop()
      faults.push(...load.unexpected(['200', '503 engine_unavailable', '507 disk_full']))
      faults.push(...load.ledger.faults(await storedIds(target, project)))
      return { counts: { 'times writes failed': rounds, refusals: refusals(), ...counts }, faults }
    })
  },
}
