import { spawnSync } from 'node:child_process'
import { openPlain } from '../faults/mounted-service.ts'
import { storedIds } from '../load/counting.ts'
import { MixedLoad } from '../load/mixed-load.ts'
import { patienceMs } from '../support/patience.ts'
import { whenAnswering } from '../support/recovery.ts'
import type { Scenario } from '../support/scenario.ts'

const project = 'refusedwrites'

export const refusedWrites: Scenario = {
  name: 'writes',
  title: 'what a disk does not take is not acknowledged, also where the engine does not notice',
  needs: () => (spawnSync('prlimit', ['--version']).error ? 'needs prlimit (Debian: util-linux)' : undefined),
  async run(run) {
    const rounds = run.cycles(10, 1)
    const { target } = await run.share('disk', openPlain)
    return MixedLoad.during({ target, project, senders: 4, deploying: false }, async (load) => {
      const refusals = () => load.heard((status) => status !== '200')
      for (let round = 0; round < rounds; round++) {
        await load.acknowledgesMore(2, patienceMs)
        const before = refusals()
        const { enginePid } = target
        // No file of this engine can grow from now on. Senders are refused, or wait for the next one.
        spawnSync('prlimit', ['--pid', String(enginePid), '--fsize=0:'])
        const isNoticed = () => refusals() > before || target.enginePid !== enginePid
        await load.happens(isNoticed, patienceMs, 'nobody notices')
        // Where it is the same one still.
        spawnSync('prlimit', ['--pid', String(enginePid), '--fsize=unlimited:'])
        await load.acknowledgesMore(2, patienceMs)
        await whenAnswering(target, patienceMs)
      }
      const { counts, faults } = await load.stop()
      faults.push(...load.unexpected(['200', '503 engine_unavailable', '507 disk_full']))
      faults.push(...load.ledger.faults(await storedIds(target, project)))
      return { counts: { 'times no write was taken': rounds, refusals: refusals(), ...counts }, faults }
    })
  },
}
