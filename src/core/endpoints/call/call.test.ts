import { describe, expect, test } from 'vitest'
import { manualClock } from '../../../../test/support/manual-clock.ts'
import { blamedBounds, CrashGuard } from '../../engine/embedded/running-queries.ts'
import { blameFor, type Call, EngineTime } from './call.ts'

const minute = 60_000
const endpoint = { definition: { id: 'e' } }
const customer = (token: string, project: string | undefined, sql: string | undefined) =>
  blameFor({ endpoint, sql, project, caller: token } as unknown as Call)

/** Lets callers crash the engine whenever they are not refused, for two days. Returns how often each bystander was refused. */
function attack(attackers: ReturnType<typeof blameFor>[], bystanders: ReturnType<typeof blameFor>[]) {
  const clock = manualClock()
  const bounds = { windowMs: minute, refusalMs: minute, crashes: 3, maxEntries: 1_000 }
  const guard = new CrashGuard({ clock, ...bounds, blamed: blamedBounds })
  const refused = bystanders.map(() => 0)
  let crashes = 0
  for (let minutes = 0; minutes < 2 * 1440; minutes++) {
    for (const blame of attackers) {
      if (guard.blamedForMs(blame) > 0) continue
      guard.recordCrash({ statement: `SELECT ${crashes++}`, blame })
      bystanders.forEach((other, index) => {
        if (guard.blamedForMs(other) > 0) refused[index] = (refused[index] ?? 0) + 1
      })
    }
    clock.advance(minute)
  }
  return { crashes, refused }
}

describe.each(['SELECT 1', undefined])('a caller who crashes the engine with %s', (sql) => {
  test.each([
    ['a', undefined],
    [undefined, 'a'],
  ])('for project %s is refused alone, and none of the other customers of its token', (project, other) => {
    const bystanders = [customer('t', 'b', sql), customer('t', other, sql), customer('u', 'a', sql)]
    const { crashes, refused } = attack([customer('t', project, sql)], bystanders)
    expect(refused).toEqual([0, 0, 0])
    expect(crashes).toBeLessThan(20)
  })

  test('has a limit for all customers of its token, which closes no sandbox', () => {
    const attackers = Array.from({ length: 50 }, (_, index) => customer('t', `p${index}`, sql))
    const { crashes, refused } = attack(attackers, [customer('t', 'b', sql), customer('u', 'a', sql)])
    expect(refused[0]).toBeGreaterThan(0)
    expect(refused[1]).toBe(0)
    expect(crashes).toBeLessThan(40)
  })
})

test('a token that stands for many people is blamed for each SQL apart, and its sandbox for very much of it', () => {
  const shared = (project: string, sql: string) =>
    blameFor({ endpoint, sql, project, caller: 't', isSharedToken: true } as unknown as Call)
  const bystanders = [shared('a', 'SELECT 2'), shared('b', 'SELECT 1'), customer('u', 'a', 'SELECT 1')]
  const { crashes, refused } = attack([shared('a', 'SELECT 1')], bystanders)
  expect(refused).toEqual([0, 0, 0])
  expect(crashes).toBeLessThan(20)
  const everybody = Array.from({ length: 50 }, (_, index) => shared('a', `SELECT ${index}`))
  expect(attack(everybody, [shared('a', 'SELECT 1000')]).refused[0]).toBeGreaterThan(0)
})

test('engine time is the sum of all runs, including one in progress', () => {
  let nowMs = 1_000
  const time = new EngineTime(() => nowMs)
  expect(time.ms).toBe(0)
  time.begin()
  nowMs += 30
  expect(time.ms).toBe(30)
  time.end()
  nowMs += 500
  expect(time.ms).toBe(30)
  time.begin()
  nowMs += 12
  time.end()
  time.end()
  expect(time.ms).toBe(42)
})
