import { expect, test } from 'vitest'
import { manualClock } from '../../../test/support/manual-clock.ts'
import { ByteBudget, DiskGuard } from './intake-limits.ts'

test('requests together hold at most the budget, and released bytes are available again', () => {
  const budget = new ByteBudget(100)
  const first = budget.share('a')
  const second = budget.share('b')
  first.add(60)
  second.add(40)
  expect(() => second.add(1)).toThrow(
    expect.objectContaining({ code: 'rate_limited', status: 429, retryAfterSeconds: 1 }),
  )
  expect(budget.heldBytes).toBe(100)
  first.release()
  first.release()
  second.add(60)
  second.release()
  expect(budget.heldBytes).toBe(0)
})

test('a lone request may exceed the budget, and others wait for it', () => {
  const budget = new ByteBudget(100)
  const large = budget.share('a')
  large.add(90)
  large.add(90)
  const small = budget.share('b')
  expect(() => small.add(1)).toThrow()
  large.release()
  small.add(1)
})

test('requests of one sender together hold at most half, so that others find room', () => {
  const budget = new ByteBudget(100)
  const [first, second, other] = [budget.share('a'), budget.share('a'), budget.share('b')]
  first.add(40)
  second.add(10)
  expect(() => second.add(1)).toThrow(expect.objectContaining({ code: 'rate_limited' }))
  other.add(50)
  first.release()
  second.add(40)
  second.release()
  other.release()
  expect(budget.heldBytes).toBe(0)
})

test('entries are refused while the disk is nearly full, and accepted once there is room', () => {
  const clock = manualClock()
  let free: number | undefined = 1000
  let checks = 0
  const freeBytes = () => {
    checks++
    return free
  }
  const guard = new DiskGuard({ freeBytes, freeInodes: () => undefined, reserveBytes: 500, clock })
  guard.check()
  guard.check()
  expect(checks).toBe(1)
  free = 499
  clock.advance(1_000)
  expect(() => guard.check()).toThrow(expect.objectContaining({ code: 'disk_full', status: 507 }))
  free = 500
  clock.advance(1_000)
  guard.check()
  // A clock that is set back must not keep an old result.
  free = 0
  clock.advance(-3_600_000)
  expect(() => guard.check()).toThrow()
  free = undefined
  clock.advance(1_000)
  guard.check()
})

test('entries are refused while hardly any file can be created, and accepted once files were deleted', () => {
  const clock = manualClock()
  let free: number | undefined = 4_999
  const guard = new DiskGuard({ freeBytes: () => 1_000, freeInodes: () => free, reserveBytes: 500, clock })
  expect(() => guard.check()).toThrow(/too few inodes/)
  for (const enough of [5_000, undefined]) {
    free = enough
    clock.advance(1_000)
    guard.check()
  }
})
