import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fillDisk } from '../faults/fill-disk.ts'
import { injectFaults, needsForStrace } from '../faults/injected-faults.ts'
import { type LoopDisk, needsForLoopDisk } from '../faults/loop-disk.ts'
import { openMounted, openPlain } from '../faults/mounted-service.ts'
import { storedIds } from '../load/counting.ts'
import { MixedLoad } from '../load/mixed-load.ts'
import { summaryOf, waitUntil } from '../load/responses.ts'
import { patienceMs } from '../support/patience.ts'
import type { Scenario, TortureRun } from '../support/scenario.ts'
import type { Target } from '../support/target.ts'
import { waitForRecovery } from '../support/wait-for-recovery.ts'

interface Round {
  number: number
  run: TortureRun
  load: MixedLoad
  target: Target
  project: string
  counts: Record<string, number>
  faults: string[]
  refusals: () => number
}

interface DiskFault<Disk> {
  name: string
  title: string
  needs: () => string | undefined
  shortRounds?: number
  isRefusal: (status: string) => boolean
  /** Responses that senders may get. */
  expected: string[]
  /** Called for each round, under load. */
  round: (round: Round & { disk: Disk }) => Promise<void>
}

/** Under load, the disk fails for a while, again and again. No acknowledged entry may be lost. */
function diskFault<Disk extends LoopDisk | undefined>(
  fault: DiskFault<Disk>,
  open: (directory: string) => Promise<{ target: Target; disk?: LoopDisk; close(): Promise<void> }>,
): Scenario {
  const { name, title, needs, shortRounds = 1, isRefusal, expected, round } = fault
  const project = name.replaceAll('-', '')
  return {
    name,
    title,
    needs,
    async run(run) {
      const rounds = run.cycles(10, shortRounds)
      const { target, disk } = await run.share('disk', open)
      const options = {
        target,
        project,
        senders: run.size(4, 2),
        deploying: false,
        visibleEntriesStay: false,
      }
      return MixedLoad.during(options, async (load) => {
        const own: Record<string, number> = { rounds }
        const faults: string[] = []
        const refusals = () => load.countResponses(isRefusal)
        const shared = { run, load, target, project, counts: own, faults, refusals, disk: disk as Disk }
        for (let number = 0; number < rounds; number++) {
          await load.waitForBatches(2, patienceMs)
          await round({ ...shared, number })
        }
        const { counts, faults: wrong } = await load.stop()
        faults.push(...wrong, ...load.unexpected(expected))
        faults.push(...load.ledger.faults(await storedIds(target, project)))
        return { counts: { ...own, 'logs refused': refusals(), ...counts }, faults }
      })
    },
  }
}

const requestTo = ({ target, project }: Round, name: string) =>
  summaryOf(target.call(`/api/endpoints/query/${name}?project=${project}`))

async function expectSuccess(round: Round, name: string, when: string): Promise<void> {
  const { status, code } = await requestTo(round, name)
  if (status !== 200) round.faults.push(`${name} ${when}: ${status} ${code}`)
}

const isUnavailable = (status: string) => status.startsWith('503')

export const diskFull = diskFault<LoopDisk>(
  {
    name: 'disk-full',
    title:
      'a full disk refuses logs with 507 while queries continue, and logs are accepted again when there is space',
    needs: needsForLoopDisk,
    shortRounds: 2,
    isRefusal: (status) => status === '507 disk_full',
    // Senders, too, may meet the engine while it restarts.
    expected: ['200', '507 disk_full', '503 engine_unavailable'],
    round: async (round) => {
      const { number, load, target, faults, refusals, disk } = round
      const filler = join(disk.path, 'filler')
      const before = refusals()
      // Every other round leaves less than the reserve; the others leave nothing.
      fillDisk(disk.path, filler, number % 2 === 0 ? 100 * 2 ** 20 : 0)
      await load.waitFor(() => refusals() > before, patienceMs, 'no log was refused')
      await expectSuccess(round, 'torture.cached-count', 'on a full disk')
      // A disk that fills up during an insert can leave it incomplete; then the engine restarts.
      const uncached = new Set<string>()
      const isServed = async () => {
        const { status, code } = await requestTo(round, 'torture.count')
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
    },
  },
  openMounted,
)

export const readOnly = diskFault<LoopDisk>(
  {
    name: 'read-only',
    title: 'a read-only disk refuses logs with 503 while queries continue, and no acknowledged entry is lost',
    needs: needsForLoopDisk,
    isRefusal: isUnavailable,
    expected: ['0', '200', '503 engine_unavailable'],
    round: async (round) => {
      const { run, load, target, refusals, disk } = round
      // An engine cannot start on a read-only disk.
      if (run.size(1, 0) > 0) {
        process.kill(target.enginePid as number, 'SIGKILL')
        const isReadOnly = async () => attempt(() => disk.readOnly())
        await waitUntil('the disk to become read-only', isReadOnly, patienceMs, 1)
        await expectSuccess(round, 'torture.cached-count', 'without an engine, on a read-only disk')
        disk.writable()
        await load.waitForBatches(2, patienceMs)
        await waitForRecovery(target, patienceMs)
      }
      // A running engine can still read when its disk fails.
      const before = refusals()
      disk.fail()
      await load.waitFor(() => refusals() > before, patienceMs, 'no log was refused')
      for (const name of ['torture.count', 'torture.cached-count']) {
        await expectSuccess(round, name, 'on a read-only disk')
      }
      await target.kill()
      await disk.repair()
      target.start()
      await waitForRecovery(target, patienceMs)
      await load.waitForBatches(2, patienceMs)
    },
  },
  openMounted,
)

export const refusedWrites = diskFault<undefined>(
  {
    name: 'writes',
    title: 'entries that were not written are not acknowledged, even if the engine reports success',
    needs: () =>
      spawnSync('prlimit', ['--version']).error ? 'needs prlimit (Debian: util-linux)' : undefined,
    isRefusal: (status) => status !== '200',
    expected: ['200', '503 engine_unavailable', '507 disk_full'],
    round: async ({ load, target, refusals }) => {
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
    },
  },
  openPlain,
)

export const fsync = diskFault<undefined>(
  {
    name: 'fsync',
    title:
      'logs that cannot be synced are not acknowledged, and a slow disk delays senders but loses nothing',
    needs: needsForStrace,
    isRefusal: isUnavailable,
    expected: ['200', '503 engine_unavailable'],
    round: async ({ run, load, target, counts, refusals }) => {
      const every = 2 + Math.floor(run.random() * 30)
      const before = refusals()
      const failing = await injectFaults(target.enginePid as number, `error=EIO:when=1+${every}`)
      await load.waitFor(() => refusals() > before, patienceMs, 'no log was refused')
      counts['failed syncs'] = (counts['failed syncs'] ?? 0) + (await failing.stop())
      await load.waitForBatches(2, patienceMs)
      const slow = await injectFaults(target.enginePid as number, `delay_enter=${run.size(100_000, 20_000)}`)
      await load.waitForBatches(2, patienceMs)
      await slow.stop()
      await waitForRecovery(target, patienceMs)
    },
  },
  openPlain,
)

function attempt(work: () => void): boolean {
  try {
    work()
    return true
  } catch {
    return false
  }
}
