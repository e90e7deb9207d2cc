import { expect, test } from 'vitest'
import { manualClock } from '../base/clock.ts'
import { DiskGuard } from './disk-guard.ts'

test('logs are refused while the disk is nearly full, and taken again when there is room', () => {
  const clock = manualClock()
  let free: number | undefined = 1000
  let looked = 0
  const guard = new DiskGuard({
    freeBytes: () => {
      looked++
      return free
    },
    reserveBytes: 500,
    clock,
  })
  guard.check()
  guard.check()
  expect(looked).toBe(1)
  free = 499
  clock.advance(1_000)
  expect(() => guard.check()).toThrow(expect.objectContaining({ code: 'disk_full', status: 507 }))
  free = 500
  clock.advance(1_000)
  guard.check()
  // A clock that is set back must not keep an old answer.
  free = 0
  clock.advance(-3_600_000)
  expect(() => guard.check()).toThrow()
  free = undefined
  clock.advance(1_000)
  guard.check()
})
