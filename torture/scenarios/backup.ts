import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { many } from '../../test/support/engines.ts'
import { fillDisk } from '../faults/fill-disk.ts'
import { LoopDisk, needsForLoopDisk } from '../faults/loop-disk.ts'
import { type MountedService, openMounted, reserveMegabytes } from '../faults/mounted-service.ts'
import { diceOf } from '../fuzz/dice.ts'
import { ChangingTables, faultsOfRestored, type SourceExpectation } from '../load/changing-tables.ts'
import { storedIds } from '../load/counting.ts'
import { MixedLoad } from '../load/mixed-load.ts'
import { waitUntil } from '../load/responses.ts'
import { patienceMs } from '../support/patience.ts'
import type { Scenario } from '../support/scenario.ts'
import { adminToken, Target } from '../support/target.ts'
import { waitForRecovery } from '../support/wait-for-recovery.ts'
import { type RunningCommand, runWellhead } from '../support/wellhead-command.ts'

const project = 'backup'
const senders = 4

/** Troubles during a backup or restore; the rounds cycle through them. */
const troubles = [
  'none',
  'full disk',
  'none',
  'interrupted',
  'none',
  'full disk at restore',
  'service killed',
] as const
type Trouble = (typeof troubles)[number]

/** Every error message must say what to do next. */
const advice = /\b(?:again|Free|Choose|take a new one|Start a service)\b/

export const backup: Scenario = {
  name: 'backup',
  title: 'every complete backup restores with all entries acknowledged before it began, none of them twice',
  needs: needsForLoopDisk,
  async run(run) {
    const rounds = run.cycles(21, 1)
    const dice = diceOf(run.random)
    const service = await run.share('disk', openMounted)
    const { disk, target } = service
    const directory = join(disk.path, 'backups')
    mkdirSync(directory, { recursive: true })
    const counts = { 'backups complete': 0, 'backups that failed': 0, 'restores refused': 0, restored: 0 }
    const options = {
      ...{ target, project, senders, deploying: false, visibleEntriesStay: false },
      // Commands take seconds, whatever else the service has to do.
      pauseMs: run.size(0, 300),
    }
    return MixedLoad.during(options, async (load) => {
      const tables = new ChangingTables(target, dice)
      await tables.open()
      const faults: string[] = []
      for (let round = 0; round < rounds; round++) {
        const trouble = troubles[round % troubles.length] as Trouble
        // More than one of each sender, so that at least one was sent after the round before. The service looks at the disk once a
        // second, and refuses logs until then.
        await load.waitForBatches(senders + 1, patienceMs)
        await tables.prepare()
        const expected = tables.expected()
        const acknowledged = load.ledger.acknowledged()
        const to = join(directory, `backup-${round}`)
        const taking = runWellhead('backup', to, '--url', await target.url(), '--token', adminToken)
        // Not in rounds with trouble, because these changes must succeed.
        const disturbing = trouble === 'none' ? tables.disturb() : Promise.resolve({ deleted: false })
        await causeTrouble(taking, trouble, service, dice.below(many(300, 2_000)))
        const { code, stderr } = await taking.ended
        const { deleted } = await disturbing
        await waitForSnapshotRemoval(service)
        run.say(`round ${round + 1}, ${trouble}: ${code === 0 ? 'complete' : stderr || 'ended'}`)
        if (code !== 0) {
          counts['backups that failed']++
          if (trouble === 'none') faults.push(`a backup failed without a cause: ${stderr}`)
          if (trouble !== 'interrupted' && !advice.test(stderr))
            faults.push(`the error does not say what to do: ${stderr}`)
          const left = readdirSync(directory)
          if (left.length > 0) faults.push(`a failed backup left ${left.join(', ')}`)
        } else {
          counts['backups complete']++
          const atRestore = trouble === 'full disk at restore'
          const wrong = atRestore ? await refuseRestore(run.directory, to) : []
          if (atRestore) counts['restores refused']++
          wrong.push(...(await restore(service, to, { acknowledged, expected, deleted, load })))
          counts.restored++
          faults.push(...wrong.map((fault) => `round ${round + 1}: ${fault}`))
        }
        rmSync(directory, { recursive: true, force: true })
        mkdirSync(directory)
      }
      const { counts: sent, faults: wrong } = await load.stop()
      faults.push(...wrong, ...load.unexpected(['0', '200', '503 engine_unavailable', '507 disk_full']))
      faults.push(...load.ledger.faults(await storedIds(target, project)))
      return { counts: { ...counts, ...sent }, faults }
    })
  },
}

/** Causes the trouble `afterMs` after the service began to send, and resolves when the backup has ended. */
async function causeTrouble(
  { child, ended }: RunningCommand,
  trouble: Trouble,
  { disk, target }: MountedService,
  afterMs: number,
): Promise<void> {
  const isSending = () => existsSync(snapshotOf(target))
  const begun = waitUntil(
    'the backup to begin',
    async () => child.exitCode !== null || isSending(),
    patienceMs,
    5,
  )
  await Promise.race([begun.then(() => delay(afterMs)), ended])
  const filler = join(disk.path, 'filler')
  if (trouble === 'full disk') fillDisk(disk.path, filler, 0)
  else if (trouble === 'interrupted') child.kill('SIGINT')
  else if (trouble === 'service killed') {
    await target.kill()
    target.start()
  }
  await ended
  rmSync(filler, { force: true })
}

/** Resolves when the service responds and has removed its snapshot. */
async function waitForSnapshotRemoval({ target }: MountedService): Promise<void> {
  await waitForRecovery(target, patienceMs)
  await waitUntil(
    'the snapshot of the backup to be removed',
    async () => !existsSync(snapshotOf(target)),
    patienceMs,
  )
}

/** Snapshot that the service makes for a backup. */
function snapshotOf(target: Target): string {
  return join(target.dataDir, 'engine', 'store', 'shadow', 'wellhead_backup')
}

interface Expected {
  acknowledged: readonly string[]
  expected: readonly SourceExpectation[]
  deleted: boolean
  load: MixedLoad
}

/** Restores a backup to a full disk of its own: on that of the service, a merge can free space at any time. */
async function refuseRestore(directory: string, from: string): Promise<string[]> {
  const disk = new LoopDisk(mkdtempSync(join(directory, 'full-')), 600)
  try {
    fillDisk(disk.path, join(disk.path, 'filler'), 0)
    const dataDir = join(disk.path, 'restored')
    const { code, stderr } = await runWellhead('restore', from, '--no-erasures', '--data-dir', dataDir).ended
    const faults: string[] = []
    if (code === 0) faults.push('a restore succeeded on a full disk')
    if (!/Free/.test(stderr)) faults.push(`the error does not say what to do: ${stderr}`)
    const left = readdirSync(disk.path).filter((name) => name.includes('restored'))
    if (left.length > 0) faults.push(`a refused restore left ${left.join(', ')}`)
    return faults
  } finally {
    await disk.unmount()
  }
}

/** Restores a backup, starts a service on it, and compares its entries with what is expected. */
async function restore(
  { disk }: MountedService,
  from: string,
  { acknowledged, expected, deleted, load }: Expected,
): Promise<string[]> {
  const dataDir = join(disk.path, 'restored')
  const { code, stderr } = await runWellhead('restore', from, '--no-erasures', '--data-dir', dataDir).ended
  if (code !== 0) return [`a complete backup could not be restored: ${stderr}`]
  const faults: string[] = []
  const restored = new Target({ dataDir, environment: { WELLHEAD_DISK_RESERVE: `${reserveMegabytes}MiB` } })
  try {
    await waitForRecovery(restored, patienceMs)
    const found = await storedIds(restored, project)
    const lost = acknowledged.filter((id) => !found.has(id))
    if (lost.length > 0) faults.push(`${lost.length} entries not restored: ${lost.slice(0, 10).join(', ')}`)
    const { duplicated, unsent } = load.ledger.compare(found)
    if (duplicated.length > 0) faults.push(`restored twice: ${duplicated.slice(0, 10).join(', ')}`)
    if (unsent.length > 0) faults.push(`restored but never sent: ${unsent.slice(0, 10).join(', ')}`)
    faults.push(...(await faultsOfRestored(restored, expected, deleted)))
  } finally {
    await restored.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
  return faults
}
