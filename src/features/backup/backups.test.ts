import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { manualClock } from '../../../test/support/manual-clock.ts'
import { scratchDirectory } from '../../../test/support/scratch.ts'
import { fillDisk } from '../../../torture/faults/fill-disk.ts'
import { LoopDisk, needsForLoopDisk } from '../../../torture/faults/loop-disk.ts'
import { createLog } from '../../core/base/log.ts'
import type { Engine } from '../../core/engine/engine.ts'
import { Backups } from './backups.ts'

let scratch: ReturnType<typeof scratchDirectory>
beforeEach(() => {
  scratch = scratchDirectory()
})
afterEach(() => scratch.remove())

/** After a large file failed, the disk has some blocks left. */
function makeFolders(path: string): never {
  for (let i = 0; ; i++) mkdirSync(join(path, `folder-${i}`))
}

test.skipIf(needsForLoopDisk())(
  'a backup of a service whose disk is full says so and leaves nothing behind',
  async () => {
    const disk = new LoopDisk(scratch.path, 20)
    try {
      const dataDir = join(disk.path, 'data')
      const store = join(dataDir, 'engine/store')
      const definition = join(store, 'metadata/wellhead.sql')
      for (const folder of [dirname(definition), join(store, 'shadow')])
        mkdirSync(folder, { recursive: true })
      writeFileSync(definition, 'ATTACH DATABASE _')
      fillDisk(disk.path, join(disk.path, 'filler'), 0)
      expect(() => makeFolders(disk.path)).toThrow(/ENOSPC/)
      const backups = new Backups({
        // The disk refuses the first folder of the snapshot, before any statement.
        engine: { database: 'wellhead' } as Engine,
        catalog: { hold: (work) => work() },
        atRest: (work) => work(),
        clock: manualClock(),
        log: createLog('silent'),
        dataDir,
        stalledAfterMs: 1_000,
      })
      await expect(backups.begin()).rejects.toMatchObject({
        code: 'backup_unavailable',
        message: 'The disk of the service is full. Free some space on it and try again.',
      })
      expect(existsSync(join(store, 'shadow/wellhead_backup'))).toBe(false)
    } finally {
      await disk.unmount()
    }
  },
)
