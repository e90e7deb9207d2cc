import { natively } from '../../test/support/engines.ts'
import type { Ledger } from '../../test/support/ledger.ts'
import { needsForLoopDisk } from '../faults/loop-disk.ts'
import { openMounted } from '../faults/mounted-service.ts'
import { storedIds } from '../load/counting.ts'
import { MixedLoad } from '../load/mixed-load.ts'
import { patienceMs } from '../support/patience.ts'
import type { Scenario } from '../support/scenario.ts'
import type { Target } from '../support/target.ts'
import { waitForRecovery } from '../support/wait-for-recovery.ts'

const project = 'powercut'
const maxEvents = natively(60, 16)

export const powerCut: Scenario = {
  name: 'power-cut',
  title: 'nothing acknowledged is lost and nothing is stored twice after power cuts under load',
  needs: needsForLoopDisk,
  async run(run) {
    const cuts = run.cycles(50, 1)
    const { disk, target } = await run.share('disk', openMounted)
    return MixedLoad.during(
      {
        ...{ target, project, senders: run.size(8, 4), deploying: true, merging: true },
        visibleEntriesStay: false,
      },
      async (load) => {
        const { ledger } = load
        const faults: string[] = []
        let inFlight = 0
        let beforeAcknowledgement = 0
        for (let cut = 0; cut < cuts; cut++) {
          await load.waitForBatches(1, patienceMs)
          const events = () => ledger.batches.length + ledger.acknowledgedBatches
          const wanted = events() + Math.floor(run.random() * maxEvents)
          await load.waitFor(() => events() >= wanted, patienceMs, 'nothing was sent')
          // The worst moment: rows are visible but not acknowledged, and their sender will retry.
          if (cut % 2 === 0) {
            await waitForVisibleRows(target, ledger, patienceMs)
            beforeAcknowledgement++
          }
          disk.cut()
          inFlight += ledger.batches.filter(({ state }) => state === 'in flight').length
          await target.kill()
          await disk.unmount()
          const acknowledged = ledger.acknowledged()
          disk.mount()
          target.start()
          await waitForRecovery(target, patienceMs)
          const stored = await storedIds(target, project)
          const lost = acknowledged.filter((id) => !stored.has(id))
          if (lost.length > 0)
            faults.push(`cut ${cut + 1} lost ${lost.length} entries: ${lost.slice(0, 5).join(', ')}`)
          if (cut % 10 === 9) run.say(`${cut + 1} cuts, ${ledger.acknowledgedBatches} batches acknowledged`)
        }
        await load.waitForBatches(1, patienceMs)
        const { counts, faults: wrong } = await load.stop()
        faults.push(...wrong, ...ledger.faults(await storedIds(target, project)))
        return {
          counts: {
            cuts,
            'cuts before the acknowledgement of visible rows': beforeAcknowledgement,
            ...counts,
            'batches in flight at a cut': inFlight,
          },
          faults,
        }
      },
    )
  },
}

async function waitForVisibleRows(target: Target, ledger: Ledger, withinMs: number): Promise<void> {
  const until = performance.now() + withinMs
  // Ignores rows that were stored before but never acknowledged.
  let unacknowledgedBefore = Number.POSITIVE_INFINITY
  while (performance.now() < until) {
    const { result } = await target.json<{ result: [{ n: number }] }>(
      `/api/endpoints/query/torture.count?project=${project}`,
    )
    const unacknowledged = result[0].n - ledger.acknowledgedIds
    if (unacknowledged > Math.max(0, unacknowledgedBefore)) return
    unacknowledgedBefore = Math.min(unacknowledgedBefore, unacknowledged)
  }
  throw new Error('No row became visible before it was acknowledged.')
}
