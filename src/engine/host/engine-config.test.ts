import { expect, test } from 'vitest'
import { checkDurability } from './engine-config.ts'

test.each([
  ['1\t1\t1\n', undefined],
  ['1\t0\t1\n', 'The engine ignored its settings: fsync_part_directory is 0, not 1.'],
  ['1\t\n', 'fsync_part_directory is unknown, not 1; min_rows_to_fsync_after_merge is unknown, not 1'],
])('settings that the engine reports as %j are checked', async (reported, problem) => {
  const checked = checkDurability({ run: async () => ({ bytes: Buffer.from(reported) }) })
  if (problem === undefined) await checked
  else await expect(checked).rejects.toThrow(problem)
})
