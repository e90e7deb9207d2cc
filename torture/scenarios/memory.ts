import { isAlive } from '../../test/support/service-process.ts'
import { MemoryGroup, needsForMemoryGroup } from '../faults/memory-group.ts'
import { openPlain } from '../faults/mounted-service.ts'
import { storedIds } from '../load/counting.ts'
import { MixedLoad } from '../load/mixed-load.ts'
import { summaryOf } from '../load/responses.ts'
import { patienceMs } from '../support/patience.ts'
import type { Scenario } from '../support/scenario.ts'
import type { Target } from '../support/target.ts'
import { waitForRecovery } from '../support/wait-for-recovery.ts'

const project = 'memory'
const limitBytes = 64 * 2 ** 20

export const memory: Scenario = {
  name: 'memory',
  title: 'an engine that is killed for lack of memory restarts, and no acknowledged entry is lost',
  needs: needsForMemoryGroup,
  async run(run) {
    const rounds = run.cycles(10, 1)
    const { target } = await run.share('disk', openPlain)
    return MixedLoad.during({ target, project, senders: run.size(4, 2), deploying: false }, async (load) => {
      const faults: string[] = []
      await saveHungryEndpoint(target)
      for (let round = 0; round < rounds; round++) {
        await load.waitForBatches(2, patienceMs)
        const group = new MemoryGroup()
        try {
          const engine = target.enginePid as number
          group.limit(limitBytes)
          // Only the engine: memory allocated before is charged to the old group, and ending a process does not free it here.
          group.add(engine)
          const hungry = summaryOf(target.call(`/api/endpoints/query/torture.hungry?round=${round}`))
          await load.waitFor(() => target.enginePid !== engine, patienceMs, 'the engine was not killed')
          group.limit(undefined)
          if (!isAlive(target.pid)) faults.push('the service was killed')
          const path = `/api/endpoints/query/torture.cached-count?project=${project}`
          const { status, code } = await summaryOf(target.call(path))
          if (status !== 200) faults.push(`a cached query without an engine: ${status} ${code}`)
          const { status: end, code: why } = await hungry
          if (end !== 503) faults.push(`the query that ended the engine: ${end} ${why}`)
          await waitForRecovery(target, patienceMs)
          await load.waitForBatches(2, patienceMs)
        } finally {
          group.remove()
        }
      }
      const { counts, faults: wrong } = await load.stop()
      faults.push(
        ...wrong,
        ...load.unexpected(['200', '503 engine_unavailable', '503 overloaded']),
        ...load.ledger.faults(await storedIds(target, project)),
      )
      return { counts: { 'engines killed': rounds, ...counts }, faults }
    })
  },
}

/** The parameter makes the query of each round different; the service refuses one that ended the engine before. */
async function saveHungryEndpoint(target: Target): Promise<void> {
  const endpoint = {
    name: 'torture.hungry',
    query: 'SELECT length(groupArray(number + length(@round))) AS n FROM numbers(50000000)',
    parameters: { round: { required: true } },
    timeout_seconds: 300,
  }
  const body = JSON.stringify({ endpoints: [endpoint] })
  await target.json('/api/deployments', {
    method: 'POST',
    body,
    headers: { 'Content-Type': 'application/json' },
  })
}
