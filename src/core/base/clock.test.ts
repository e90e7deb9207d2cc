import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { manualClock, manualTime } from '../../../test/support/manual-clock.ts'
import { systemTime } from './clock.ts'

/** A wall clock that can be set, beside a monotonic clock that cannot. */
function clocks() {
  const wall = manualClock()
  let elapsed = 5000
  const time = systemTime(wall, () => elapsed)
  return {
    time,
    set: wall.advance,
    pass: (ms: number) => {
      elapsed += ms
      wall.advance(ms)
    },
  }
}

describe('systemTime', () => {
  test('keeps its pace while the wall clock is set back', () => {
    const { time, set, pass } = clocks()
    const before = time.now()
    set(-3_600_000)
    pass(1000)
    expect(time.now() - before).toBe(1000)
    set(3_600_000)
    pass(1000)
    expect(time.now() - before).toBe(2000)
  })

  test('follows a wall clock that is set forward, as after a machine slept', () => {
    const { time, set, pass } = clocks()
    const before = time.now()
    set(3_600_000)
    expect(time.now() - before).toBe(3_600_000)
    pass(1000)
    expect(time.now() - before).toBe(3_601_000)
  })

  test('never goes back, and is never slower than the monotonic clock', () => {
    const steps = fc.array(
      fc.tuple(fc.constantFrom('set', 'pass'), fc.integer({ min: -10_000, max: 10_000 })),
    )
    fc.assert(
      fc.property(steps, (history) => {
        const { time, set, pass } = clocks()
        let last = time.now()
        for (const [action, ms] of history) {
          const passed = action === 'pass' ? Math.abs(ms) : 0
          if (action === 'set') set(ms)
          else pass(passed)
          expect(time.now() - last).toBeGreaterThanOrEqual(passed)
          last = time.now()
        }
      }),
    )
  })

  test('does not run a timer of ninety days at once, nor a canceled one', async () => {
    const time = systemTime(manualClock())
    const ran: string[] = []
    const cancel = time.after(90 * 86_400_000, () => ran.push('in ninety days'))
    time.after(0, () => ran.push('never'))()
    // Timers of the same length run in the order in which they were set.
    await new Promise<void>((resolve) => time.after(1, resolve))
    expect(ran).toEqual([])
    cancel()
  })
})

test('a manual time runs due timers in order, each at its own time', () => {
  const time = manualTime()
  const start = time.now()
  const seen: [string, number][] = []
  const at = (name: string, ms: number) => time.after(ms, () => seen.push([name, time.now() - start]))
  at('late', 300)
  at('soon', 100)
  time.after(50, () => at('added', 100))
  at('never', 120)()
  time.advance(200)
  expect(seen).toEqual([
    ['soon', 100],
    ['added', 150],
  ])
  expect(time.now() - start).toBe(200)
})
