import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fillDisk } from '../faults/fill-disk.ts'
import { needsForLoopDisk } from '../faults/loop-disk.ts'
import { openMounted } from '../faults/mounted-service.ts'
import { storedIds } from '../load/counting.ts'
import { MixedLoad } from '../load/mixed-load.ts'
import { summaryOf, waitUntil } from '../load/responses.ts'
import { patienceMs } from '../support/patience.ts'
import type { Scenario } from '../support/scenario.ts'

const project = 'diskfull'
const call = (name: string) => `/api/endpoints/query/${name}?project=${project}`

export const diskFull: Scenario = {
  name: 'disk-full',
  title:
    'a full disk refuses logs with 507 while queries continue, and logs are accepted again when there is space',
  needs: needsForLoopDisk,
  async run(run) {
    const rounds = run.cycles(10, 2)
    const { disk, target } = await run.share('disk', openMounted)
    const options = { target, project, senders: run.size(4, 2), deploying: false, visibleEntriesStay: false }
    return MixedLoad.during(options, async (load) => {
      const filler = join(disk.path, 'filler')
      const faults: string[] = []
      const refusals = () => load.countResponses((status) => status === '507 disk_full')
      for (let round = 0; round < rounds; round++) {
        await load.waitForBatches(2, patienceMs)
        // Every other round leaves less than the reserve; the others leave nothing.
        const leaveBytes = round % 2 === 0 ? 100 * 2 ** 20 : 0
        fillDisk(disk.path, filler, leaveBytes)
        const before = refusals()
        await load.waitFor(() => refusals() > before, patienceMs, 'no log was refused')
        const cached = await summaryOf(target.call(call('torture.cached-count')))
        if (cached.status !== 200)
          faults.push(`a cached result on a full disk: ${cached.status} ${cached.code}`)
        // A disk that fills up during an insert can leave it incomplete; then the engine restarts.
        const uncached = new Set<string>()
        const isServed = async () => {
          const { status, code } = await summaryOf(target.call(call('torture.count')))
          if (status !== 200) uncached.add(`${status} ${code}`)
          return status === 200
        }
        await waitUntil('a query on a full disk', isServed, patienceMs)
        uncached.delete('503 engine_unavailable')
        if (uncached.size > 0) faults.push(`torture.count on a full disk: ${[...uncached].join(', ')}`)
        const { status } = await summaryOf(target.call('/health'))
        if (status !== 200) faults.push(`/health on a full disk: ${status}`)
        rmSync(filler)
        // Only batches sent after the disk was freed count; earlier ones may be acknowledged late.
        const { batches } = load.ledger
        const sent = batches.length
        const isTaken = () => batches.slice(sent).some(({ state }) => state === 'acknowledged')
        await load.waitFor(isTaken, patienceMs, 'logs were not accepted again')
      }
      const { counts, faults: wrong } = await load.stop()
      // Senders, too, may meet the engine while it restarts.
      faults.push(...wrong, ...load.unexpected(['200', '507 disk_full', '503 engine_unavailable']))
      faults.push(...load.ledger.faults(await storedIds(target, project)))
      return { counts: { 'times filled': rounds, 'logs refused with 507': refusals(), ...counts }, faults }
    })
  },
}
