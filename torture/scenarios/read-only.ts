import { needsForLoopDisk } from '../faults/loop-disk.ts'
import { openMounted } from '../faults/mounted-service.ts'
import { storedIds } from '../load/counting.ts'
import { MixedLoad } from '../load/mixed-load.ts'
import { summaryOf, waitUntil } from '../load/responses.ts'
import { patienceMs } from '../support/patience.ts'
import type { Scenario } from '../support/scenario.ts'
import { waitForRecovery } from '../support/wait-for-recovery.ts'

const project = 'readonly'
const call = (name: string) => `/api/endpoints/query/${name}?project=${project}`

export const readOnly: Scenario = {
  name: 'read-only',
  title: 'a read-only disk refuses logs with 503 while queries continue, and no acknowledged entry is lost',
  needs: needsForLoopDisk,
  async run(run) {
    const rounds = run.cycles(10, 1)
    const { disk, target } = await run.share('disk', openMounted)
    return MixedLoad.during(
      { target, project, senders: run.size(4, 2), deploying: false, visibleEntriesStay: false },
      async (load) => {
        const faults: string[] = []
        let timesReadOnly = 0
        const refusals = () => load.countResponses((status) => status.startsWith('503'))
        const expectSuccess = async (name: string, when: string) => {
          const { status, code } = await summaryOf(target.call(call(name)))
          if (status !== 200) faults.push(`${name} ${when}: ${status} ${code}`)
        }
        for (let round = 0; round < rounds; round++) {
          await load.waitForBatches(2, patienceMs)
          // An engine cannot start on a read-only disk.
          if (run.size(1, 0) > 0) {
            process.kill(target.enginePid as number, 'SIGKILL')
            await waitUntil(
              'the disk to become read-only',
              async () => attempt(() => disk.readOnly()),
              patienceMs,
              1,
            )
            await expectSuccess('torture.cached-count', 'without an engine, on a read-only disk')
            disk.writable()
            await load.waitForBatches(2, patienceMs)
            await waitForRecovery(target, patienceMs)
            timesReadOnly++
          }
          // A running engine can still read when its disk fails.
          const before = refusals()
          disk.fail()
          timesReadOnly++
          await load.waitFor(() => refusals() > before, patienceMs, 'no log was refused')
          for (const name of ['torture.count', 'torture.cached-count']) {
            await expectSuccess(name, 'on a read-only disk')
          }
          await target.kill()
          await disk.repair()
          target.start()
          await waitForRecovery(target, patienceMs)
        }
        await load.waitForBatches(2, patienceMs)
        const { counts, faults: wrong } = await load.stop()
        faults.push(...wrong, ...load.unexpected(['0', '200', '503 engine_unavailable']))
        faults.push(...load.ledger.faults(await storedIds(target, project)))
        return {
          counts: { 'times read-only': timesReadOnly, 'logs refused with 503': refusals(), ...counts },
          faults,
        }
      },
    )
  },
}

function attempt(work: () => void): boolean {
  try {
    work()
    return true
  } catch {
    return false
  }
}
