import { describe, expect, test } from 'vitest'
import { manualTime } from '../../../../test/support/manual-clock.ts'
import { QueryQueue, type QueryQueueOptions } from './query-queue.ts'

const time = manualTime()

function openQueue(options: Partial<QueryQueueOptions> = {}): QueryQueue {
  const limits = { maxRunning: 1, maxWaitingPerCaller: 10, maxWaiting: 100 }
  return new QueryQueue({ ...limits, maxWaitMs: 60_000, maxBackgroundWaitMs: 60_000, time, ...options })
}

function gate() {
  let release: () => void = () => {}
  const promise = new Promise<void>((resolve) => {
    release = resolve
  })
  return { promise, release }
}

describe('the queue of queries', () => {
  test('serves callers in turns', async () => {
    const queue = openQueue()
    const { promise, release } = gate()
    const order: string[] = []
    const first = queue.run({ caller: 'busy' }, () => promise)
    const others = ['busy 1', 'busy 2', 'busy 3'].map((name) =>
      queue.run({ caller: 'busy' }, async () => void order.push(name)),
    )
    const single = queue.run({ caller: 'calm' }, async () => void order.push('calm'))
    release()
    await Promise.all([first, ...others, single])
    expect(order).toEqual(['busy 1', 'calm', 'busy 2', 'busy 3'])
    expect([queue.running, queue.waiting]).toEqual([0, 0])
  })

  test('runs at most half of all for one caller, so that others find places, however many slow queries it has', async () => {
    const queue = openQueue({ maxRunning: 4 })
    const { promise, release } = gate()
    const slow = Array.from({ length: 5 }, () => queue.run({ caller: 'busy' }, () => promise))
    expect([queue.running, queue.waiting]).toEqual([2, 3])
    expect(await queue.run({ caller: 'calm' }, async () => 'at once')).toBe('at once')
    release()
    await Promise.all(slow)
    expect([queue.running, queue.waiting]).toEqual([0, 0])
  })

  test('limits the number of running queries, also if some fail', async () => {
    const queue = openQueue({ maxRunning: 3, maxWaitingPerCaller: 100 })
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

  test('refuses queries beyond its limits', async () => {
    const queue = openQueue({ maxWaitingPerCaller: 2, maxWaiting: 3 })
    const { promise, release } = gate()
    const send = (caller: string) => queue.run({ caller }, () => promise)
    const accepted = [send('a'), send('a'), send('a')]
    await expect(send('a')).rejects.toMatchObject({ code: 'overloaded', retryAfterSeconds: 1 })
    accepted.push(send('b'))
    await expect(send('c')).rejects.toMatchObject({ code: 'overloaded' })
    release()
    await Promise.all(accepted)
  })

  test('never starts a query whose caller has left', async () => {
    const queue = openQueue()
    const { promise, release } = gate()
    const first = queue.run({ caller: 'a' }, () => promise)
    const caller = new AbortController()
    let started = false
    const abandoned = queue.run({ caller: 'a', signal: caller.signal }, async () => {
      started = true
    })
    caller.abort(new Error('left'))
    await expect(abandoned).rejects.toThrow('left')
    expect(queue.waiting).toBe(0)
    release()
    await first
    expect([started, queue.running]).toEqual([false, 0])
  })

  test('refuses a query that has waited too long', async () => {
    const queue = openQueue({ maxWaitMs: 10_000 })
    const { promise, release } = gate()
    const running = queue.run({ caller: 'a' }, () => promise)
    const early = queue.run({ caller: 'a' }, async () => 'early')
    const refused = expect(early).rejects.toMatchObject({ code: 'overloaded', retryAfterSeconds: 1 })
    time.advance(9_999)
    const late = queue.run({ caller: 'a' }, async () => 'late')
    expect(queue.waiting).toBe(2)
    time.advance(1)
    await refused
    expect(queue.waiting).toBe(1)
    release()
    expect(await late).toBe('late')
    await running
    time.advance(60_000)
    expect([queue.running, queue.waiting]).toEqual([0, 0])
  })

  describe('estimates the wait', () => {
    const limits = { maxRunning: 4, maxWaitingPerCaller: 1000, maxWaiting: 1000 }

    /** A queue that has run queries of so many milliseconds. */
    async function queueAfter(...runs: { ms: number; times: number }[]): Promise<QueryQueue> {
      const queue = openQueue({ ...limits, maxWaitMs: 2_000, maxBackgroundWaitMs: 10_000 })
      for (const { ms, times } of runs) {
        for (let i = 0; i < times; i++) {
          await queue.run({ caller: 'earlier' }, async () => time.advance(ms))
        }
      }
      return queue
    }

    /** Sends queries at once and collects after how many seconds the refused ones may be retried. */
    function send(queue: QueryQueue, caller: string, count: number, background = false) {
      const { promise, release } = gate()
      const retries: number[] = []
      for (let i = 0; i < count; i++) {
        queue
          .run({ caller, background }, () => promise)
          .catch(({ retryAfterSeconds }) => retries.push(retryAfterSeconds))
      }
      const refused = async () => {
        await new Promise((resolve) => setImmediate(resolve))
        return retries
      }
      return { release, refused }
    }

    test('and refuses a query at once that would wait too long', async () => {
      const queue = await queueAfter({ ms: 300, times: 200 })
      const calls = send(queue, 'a', 100)
      // Two run, and 13 more start within two seconds.
      expect(await calls.refused()).toEqual(Array(85).fill(3))
      expect([queue.running, queue.waiting]).toEqual([2, 13])
      calls.release()
    })

    test('and accepts queries of a caller with few, however many another one has', async () => {
      const queue = await queueAfter({ ms: 300, times: 200 })
      const busy = send(queue, 'busy', 100)
      const calm = send(queue, 'calm', 5)
      expect(await calm.refused()).toEqual([])
      busy.release()
      calm.release()
    })

    test.each([
      ['before any query has run', [], 300],
      [
        'after a single slow query',
        [
          { ms: 20, times: 50 },
          { ms: 60_000, times: 1 },
        ],
        150,
      ],
    ])('and refuses nothing %s', async (_, runs, count) => {
      const calls = send(await queueAfter(...runs), 'a', count)
      expect(await calls.refused()).toEqual([])
      calls.release()
    })

    test('and accepts the first waiting query, however long others took', async () => {
      const queue = await queueAfter({ ms: 30_000, times: 200 })
      const running = [send(queue, 'busy', 2), send(queue, 'busy too', 2)]
      const first = queue.run({ caller: 'calm' }, async () => 'first')
      expect(queue.waiting).toBe(1)
      await expect(queue.run({ caller: 'other' }, async () => {})).rejects.toMatchObject({
        code: 'overloaded',
        message: expect.stringMatching(/^Other queries are waiting, .* Try again in 15 s\.$/),
      })
      for (const one of running) one.release()
      expect(await first).toBe('first')
      const next = [send(queue, 'busy', 2), send(queue, 'busy too', 2)]
      const late = expect(queue.run({ caller: 'calm' }, async () => {})).rejects.toMatchObject({
        message: expect.stringContaining('waited too long'),
      })
      time.advance(2_000)
      await late
      for (const one of next) one.release()
    })

    test('and lets background queries wait longer', async () => {
      const queue = await queueAfter({ ms: 3_000, times: 200 })
      const other = send(queue, 'b', 2)
      const calls = send(queue, 'a', 10)
      expect((await calls.refused()).length).toBeGreaterThan(0)
      const refresh = send(queue, 'refresh', 1, true)
      time.advance(9_999)
      expect(await refresh.refused()).toEqual([])
      time.advance(1)
      expect(await refresh.refused()).toEqual([1])
      calls.release()
      other.release()
    })
  })
})
