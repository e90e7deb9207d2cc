import { injectFaults, needsForStrace } from '../faults/injected-faults.ts'
import { openPlain } from '../faults/mounted-service.ts'
import { storedIds } from '../load/counting.ts'
import { MixedLoad } from '../load/mixed-load.ts'
import { patienceMs } from '../support/patience.ts'
import type { Scenario } from '../support/scenario.ts'
import { waitForRecovery } from '../support/wait-for-recovery.ts'

const project = 'fsync'

export const fsync: Scenario = {
  name: 'fsync',
  title: 'logs that cannot be synced are not acknowledged, and a slow disk delays senders but loses nothing',
  needs: needsForStrace,
  async run(run) {
    const rounds = run.cycles(10, 1)
    const { target } = await run.share('disk', openPlain)
    const options = { target, project, senders: run.size(4, 2), deploying: false, visibleEntriesStay: false }
    return MixedLoad.during(options, async (load) => {
      const refusals = () => load.countResponses((status) => status.startsWith('503'))
      let failures = 0
      for (let round = 0; round < rounds; round++) {
        await load.waitForBatches(2, patienceMs)
        const every = 2 + Math.floor(run.random() * 30)
        const before = refusals()
        const failing = await injectFaults(target.enginePid as number, `error=EIO:when=1+${every}`)
        await load.waitFor(() => refusals() > before, patienceMs, 'no log was refused')
        failures += await failing.stop()
        await load.waitForBatches(2, patienceMs)
        const slow = await injectFaults(
          target.enginePid as number,
          `delay_enter=${run.size(100_000, 20_000)}`,
        )
        await load.waitForBatches(2, patienceMs)
        await slow.stop()
        await waitForRecovery(target, patienceMs)
      }
      const { counts, faults } = await load.stop()
      faults.push(...load.unexpected(['200', '503 engine_unavailable']))
      faults.push(...load.ledger.faults(await storedIds(target, project)))
      return { counts: { 'failed syncs': failures, 'logs refused with 503': refusals(), ...counts }, faults }
    })
  },
}
