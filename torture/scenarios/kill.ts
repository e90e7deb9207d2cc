import { natively } from '../../test/support/engines.ts'
import { openPlain } from '../faults/mounted-service.ts'
import { storedIds } from '../load/counting.ts'
import { MixedLoad } from '../load/mixed-load.ts'
import { patienceMs } from '../support/patience.ts'
import type { Scenario } from '../support/scenario.ts'
import { waitForRecovery } from '../support/wait-for-recovery.ts'

const project = 'kill'
const victims = ['engine', 'service', 'both'] as const

/** A kill comes after up to this many further batches, so that senders are in every state. */
const maxEvents = natively(60, 12)

export const kill: Scenario = {
  name: 'kill',
  title: 'nothing is lost or stored twice and no response is wrong when service and engine are killed',
  async run(run) {
    const cycles = run.cycles(200, 1)
    const { target } = await run.share('disk', openPlain)
    const recoveriesMs: number[] = []
    const killed = { engine: 0, service: 0, both: 0 }
    let caught = 0
    return MixedLoad.during(
      { target, project, senders: run.size(8, 4), deploying: true, merging: true },
      async (load) => {
        const { ledger } = load
        const faults: string[] = []
        const shift = Math.floor(run.random() * victims.length)
        for (let cycle = 0; cycle < cycles; cycle++) {
          await load.waitForBatches(1, patienceMs)
          const events = () => ledger.batches.length + ledger.acknowledgedBatches
          const wanted = events() + Math.floor(run.random() * maxEvents)
          await load.waitFor(() => events() >= wanted, patienceMs, 'nothing was sent')
          const victim = victims[(cycle + shift) % victims.length] as (typeof victims)[number]
          killed[victim]++
          const inFlight = ledger.batches.filter(({ state, keyed }) => state === 'in flight' && !keyed)
          const since = performance.now()
          const { enginePid } = target
          if (victim !== 'service' && enginePid !== undefined) process.kill(enginePid, 'SIGKILL')
          if (victim !== 'engine') {
            await target.kill()
            target.start()
          }
          // Not waiting for the recovery makes some of the next kills fall into it.
          if (cycle > 0 && run.random() < 0.3) continue
          await waitForRecovery(target, patienceMs)
          recoveriesMs.push(performance.now() - since)
          if (victim !== 'engine') continue
          // The service repeats inserts that the engine lost, with the same deduplication token, so senders see no error.
          await load.waitFor(
            () => inFlight.every(({ state }) => state !== 'in flight'),
            patienceMs,
            'batches got no response',
          )
          caught += inFlight.length
          for (const { ids, state } of inFlight) {
            if (state !== 'acknowledged')
              faults.push(`a batch in flight when the engine was killed is ${state}: ${ids[0]}`)
          }
          if (cycle % 10 === 9)
            run.say(`${cycle + 1} kills, ${ledger.acknowledgedBatches} batches acknowledged`)
        }
        await load.waitForBatches(1, patienceMs)
        const { counts, faults: wrong } = await load.stop()
        faults.push(...wrong, ...ledger.faults(await storedIds(target, project)))
        recoveriesMs.sort((one, other) => one - other)
        return {
          counts: {
            'kills of the engine': killed.engine,
            'kills of the service': killed.service,
            'kills of both': killed.both,
            ...counts,
            'batches acknowledged despite a killed engine': caught,
            'ms to recover (median)': Math.round(recoveriesMs[recoveriesMs.length >> 1] ?? 0),
            'ms to recover (longest)': Math.round(recoveriesMs.at(-1) ?? 0),
          },
          faults,
        }
      },
    )
  },
}
