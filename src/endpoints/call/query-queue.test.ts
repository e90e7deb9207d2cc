import { describe, expect, test } from 'vitest'
import { manualTime } from '../../base/clock.ts'
import { QueryQueue } from './query-queue.ts'

const time = manualTime()
const patient = { maxWaitMs: 60_000, maxBackgroundWaitMs: 60_000, time }

function held() {
  let release: () => void = () => {}
  const promise = new Promise<void>((resolve) => {
    release = resolve
  })
  return { promise, release }
}

describe('the queue of queries', () => {
  test('a caller with one query does not wait behind all of a caller with many', async () => {
    const queue = new QueryQueue({ maxRunning: 1, maxWaitingPerCaller: 10, maxWaiting: 100, ...patient })
    const gate = held()
    const order: string[] = []
    const first = queue.run({ caller: 'busy' }, () => gate.promise)
    const others = ['busy 1', 'busy 2', 'busy 3'].map((name) =>
      queue.run({ caller: 'busy' }, async () => void order.push(name)),
    )
    const single = queue.run({ caller: 'calm' }, async () => void order.push('calm'))
    gate.release()
    await Promise.all([first, ...others, single])
    expect(order).toEqual(['busy 1', 'calm', 'busy 2', 'busy 3'])
    expect([queue.running, queue.waiting]).toEqual([0, 0])
  })

  test('never more run than may, and what fails makes room too', async () => {
    const queue = new QueryQueue({ maxRunning: 3, maxWaitingPerCaller: 100, maxWaiting: 100, ...patient })
    let running = 0
    let most = 0
    const results = await Promise.allSettled(
      Array.from({ length: 50 }, (_, i) =>
        queue.run({ caller: `caller ${i % 4}` }, async () => {
          most = Math.max(most, ++running)
          await Promise.resolve()
          running--
          if (i % 3 === 0) throw new Error('on purpose')
        }),
      ),
    )
    expect(most).toBe(3)
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(17)
    expect([queue.running, queue.waiting]).toEqual([0, 0])
  })

  test('beyond its bounds callers are told to come back', async () => {
    const queue = new QueryQueue({ maxRunning: 1, maxWaitingPerCaller: 2, maxWaiting: 3, ...patient })
    const gate = held()
    const running = [queue.run({ caller: 'a' }, () => gate.promise)]
    running.push(
      queue.run({ caller: 'a' }, async () => {}),
      queue.run({ caller: 'a' }, async () => {}),
    )
    await expect(queue.run({ caller: 'a' }, async () => {})).rejects.toMatchObject({
      code: 'overloaded',
      retryAfterSeconds: 1,
    })
    running.push(queue.run({ caller: 'b' }, async () => {}))
    await expect(queue.run({ caller: 'c' }, async () => {})).rejects.toMatchObject({ code: 'overloaded' })
    gate.release()
    await Promise.all(running)
  })

  test('who leaves while waiting makes room and is never started', async () => {
    const queue = new QueryQueue({ maxRunning: 1, maxWaitingPerCaller: 2, maxWaiting: 3, ...patient })
    const gate = held()
    const first = queue.run({ caller: 'a' }, () => gate.promise)
    const caller = new AbortController()
    let started = false
    const gone = queue.run({ caller: 'a', signal: caller.signal }, async () => {
      started = true
    })
    caller.abort(new Error('left'))
    await expect(gone).rejects.toThrow('left')
    expect(queue.waiting).toBe(0)
    gate.release()
    await first
    expect([started, queue.running]).toEqual([false, 0])
  })

  test('whoever waits too long for a turn is told to come back, and the others get theirs', async () => {
    const queue = new QueryQueue({
      maxRunning: 1,
      maxWaitingPerCaller: 10,
      maxWaiting: 10,
      maxWaitMs: 10_000,
      maxBackgroundWaitMs: 60_000,
      time,
    })
    const gate = held()
    const running = queue.run({ caller: 'a' }, () => gate.promise)
    const early = queue.run({ caller: 'a' }, async () => 'early')
    const refused = expect(early).rejects.toMatchObject({ code: 'overloaded', retryAfterSeconds: 1 })
    time.advance(9_999)
    const late = queue.run({ caller: 'a' }, async () => 'late')
    expect(queue.waiting).toBe(2)
    time.advance(1)
    await refused
    expect(queue.waiting).toBe(1)
    gate.release()
    expect(await late).toBe('late')
    await running
    // The turn of one that left is nobody's, and its time is no longer counted.
    time.advance(60_000)
    expect([queue.running, queue.waiting]).toEqual([0, 0])
  })

  describe('knows how long queries run', () => {
    /** Runs queries of so many milliseconds, one after the other. */
    async function ran(queue: QueryQueue, ms: number, times: number) {
      for (let i = 0; i < times; i++) {
        await queue.run({ caller: 'earlier' }, async () => time.advance(ms))
      }
    }
    const open = () =>
      new QueryQueue({
        maxRunning: 4,
        maxWaitingPerCaller: 1000,
        maxWaiting: 1000,
        maxWaitMs: 2_000,
        maxBackgroundWaitMs: 10_000,
        time,
      })

    /** Sends so many at once; gives who was let in, and what the others were told. */
    function sent(queue: QueryQueue, caller: string, count: number, background = false) {
      const gate = held()
      const all = Array.from({ length: count }, () => {
        const call = queue.run({ caller, background }, () => gate.promise)
        const state = { retryAfterSeconds: 0 }
        call.catch((error) => Object.assign(state, { retryAfterSeconds: error.retryAfterSeconds }))
        return state
      })
      return {
        release: gate.release,
        refused: async () => {
          await new Promise((resolve) => setImmediate(resolve))
          return all.flatMap(({ retryAfterSeconds }) => (retryAfterSeconds > 0 ? [retryAfterSeconds] : []))
        },
      }
    }

    test('and refuses at once who would wait too long, with the time after which to try again', async () => {
      const queue = open()
      await ran(queue, 300, 200)
      // Four run; 26 more are served within two seconds, four at a time.
      const calls = sent(queue, 'a', 100)
      expect(await calls.refused()).toEqual(Array(70).fill(3))
      expect([queue.running, queue.waiting]).toEqual([4, 26])
      calls.release()
    })

    test('and lets a caller with few queries in, however many another one has waiting', async () => {
      const queue = open()
      await ran(queue, 300, 200)
      const busy = sent(queue, 'busy', 100)
      const calm = sent(queue, 'calm', 5)
      expect(await calm.refused()).toEqual([])
      busy.release()
      calm.release()
    })

    test('and refuses nobody for one slow query, nor before anything is known', async () => {
      const queue = open()
      const first = sent(queue, 'a', 300)
      expect(await first.refused()).toEqual([])
      first.release()
      const other = open()
      await ran(other, 20, 50)
      await ran(other, 60_000, 1)
      const calls = sent(other, 'a', 200)
      expect(await calls.refused()).toEqual([])
      calls.release()
    })

    test('and lets a query wait for the first free slot when nobody else waits, however long others took', async () => {
      const queue = open()
      await ran(queue, 30_000, 200)
      const running = sent(queue, 'busy', 4)
      const first = queue.run({ caller: 'calm' }, async () => 'first')
      expect(queue.waiting).toBe(1)
      await expect(queue.run({ caller: 'other' }, async () => {})).rejects.toMatchObject({
        code: 'overloaded',
        message: expect.stringMatching(/^Other queries are waiting, .* Try again in 15 s\.$/),
      })
      running.release()
      expect(await first).toBe('first')
      const again = sent(queue, 'busy', 4)
      const late = expect(queue.run({ caller: 'calm' }, async () => {})).rejects.toMatchObject({
        message: expect.stringContaining('waited too long'),
      })
      time.advance(2_000)
      await late
      again.release()
    })

    test('and lets work in the background wait its turn', async () => {
      const queue = open()
      await ran(queue, 3_000, 200)
      const calls = sent(queue, 'a', 10)
      expect((await calls.refused()).length).toBeGreaterThan(0)
      const renewal = sent(queue, 'renewal', 1, true)
      time.advance(9_999)
      expect(await renewal.refused()).toEqual([])
      time.advance(1)
      expect(await renewal.refused()).toEqual([1])
      calls.release()
    })
  })
})
