import { describe, expect, test, vi } from 'vitest'
import { callRecord } from '../../../test/support/call-records.ts'
import { log } from '../../../test/support/engines.ts'
import { manualTime } from '../../../test/support/manual-clock.ts'
import { diskFull, engineUnavailable } from '../../core/base/errors.ts'
import { RequestStatistics } from './request-statistics.ts'

interface Stored {
  lines: string[]
  token: string
}

/** Statistics whose store behaves as `insert` says. */
function open(insert: (attempt: number) => Promise<void> = async () => {}, bounds = {}) {
  const time = manualTime()
  const stored: Stored[] = []
  const statistics = new RequestStatistics({
    store: async (lines, token) => {
      stored.push({ lines: lines.toString().trim().split('\n'), token })
      await insert(stored.length)
    },
    time,
    maxEntries: 50,
    log,
    ...bounds,
  })
  const add = (count: number) => {
    for (let i = 0; i < count; i++) statistics.add(callRecord())
  }
  return { time, stored, statistics, add }
}

/** Inserts that end when `finish` is called. */
function pendingInserts() {
  let resolve = () => {}
  const insert = () =>
    new Promise<void>((done) => {
      resolve = done
    })
  return { insert, finish: () => resolve() }
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

describe('request statistics', () => {
  test('are stored within a second, with one insert for all records', async () => {
    const { time, stored, statistics, add } = open()
    add(3)
    time.advance(749)
    expect(stored).toHaveLength(0)
    time.advance(1)
    await statistics.flush()
    expect(stored.map(({ lines }) => lines.length)).toEqual([3])
    add(1)
    time.advance(750)
    await statistics.flush()
    expect(stored.map(({ lines }) => lines.length)).toEqual([3, 1])
    expect(statistics.dropped).toBe(0)
  })

  test('are stored with one insert at a time; later records go into the next one', async () => {
    const { insert, finish } = pendingInserts()
    const { stored, statistics, add } = open((attempt) => (attempt > 1 ? Promise.resolve() : insert()))
    add(1)
    const first = statistics.flush()
    add(2)
    const second = statistics.flush()
    await nextTurn()
    expect(stored).toHaveLength(1)
    finish()
    await Promise.all([first, second])
    expect(stored.map(({ lines }) => lines.length)).toEqual([1, 2])
  })

  test('need few inserts under steady load, with shared entries for equal requests', async () => {
    // Each insert ends when the next requests have arrived.
    const { insert, finish } = pendingInserts()
    const { time, stored, statistics, add } = open(insert, { maxEntries: 20_000 })
    for (let ms = 0; ms < 6_000; ms += 10) {
      add(8)
      finish()
      await nextTurn()
      time.advance(10)
    }
    await nextTurn()
    finish()
    expect(stored).toHaveLength(8)
    expect(Math.max(...stored.map(({ lines }) => lines.length))).toBe(1)
    const stopped = statistics.stop()
    await nextTurn()
    finish()
    await stopped
    const calls = stored.flatMap(({ lines }) => lines.map((line) => JSON.parse(line).metadata.calls))
    expect(calls.reduce((sum, count) => sum + count)).toBe(600 * 8)
  })

  test('store what arrived during a slow insert after a pause, together', async () => {
    const { insert, finish } = pendingInserts()
    const { time, stored, add } = open(insert)
    add(1)
    time.advance(750)
    await nextTurn()
    expect(stored).toHaveLength(1)
    for (let i = 0; i < 10; i++) {
      add(1)
      time.advance(100)
    }
    expect(stored).toHaveLength(1)
    finish()
    await nextTurn()
    time.advance(750)
    await vi.waitFor(() => expect(stored.map(({ lines }) => lines.length)).toEqual([1, 10]))
  })

  test('are written in small groups, so that requests in between do not wait', async () => {
    const { time, stored, statistics } = open(undefined, { maxEntries: 20_000 })
    for (let i = 0; i < 3_000; i++) {
      statistics.add(callRecord({ engineMs: 1 }))
    }
    time.advance(750)
    let turns = 0
    while (stored.length === 0) {
      await nextTurn()
      turns++
    }
    expect(stored[0]?.lines).toHaveLength(3_000)
    expect(turns).toBeGreaterThan(10)
  })

  test('wait for an unavailable engine, and retry with the same token', async () => {
    const { time, stored, statistics, add } = open(async (attempt) => {
      if (attempt < 3) throw engineUnavailable('away')
    })
    add(2)
    for (let i = 0; i < 3; i++) {
      time.advance(750)
      await statistics.flush()
    }
    expect(new Set(stored.map(({ token }) => token)).size).toBe(1)
    expect(stored.at(-1)?.lines).toHaveLength(2)
    expect(statistics.dropped).toBe(0)
  })

  test('are dropped and counted if there is no room', async () => {
    const { statistics, add, stored } = open(async () => {
      throw engineUnavailable('away')
    })
    add(130)
    await statistics.flush()
    // Only fifty entries may wait.
    expect([statistics.dropped, stored.length]).toEqual([80, 1])
    add(40)
    await statistics.flush()
    add(40)
    await statistics.flush()
    expect(statistics.dropped).toBe(110)
  })

  test('are dropped if a retry cannot help', async () => {
    const { statistics, add, stored } = open(async () => {
      throw diskFull()
    })
    add(5)
    await statistics.stop()
    expect([stored.length, statistics.dropped]).toEqual([1, 5])
  })
})
