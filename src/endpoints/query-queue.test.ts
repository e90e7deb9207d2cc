import { describe, expect, test } from 'vitest'
import { manualTime } from '../cache/cache-time.ts'
import { QueryQueue } from './query-queue.ts'

const time = manualTime()
const patient = { maxWaitMs: 60_000, time }

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
    const first = queue.run('busy', () => gate.promise)
    const others = ['busy 1', 'busy 2', 'busy 3'].map((name) =>
      queue.run('busy', async () => void order.push(name)),
    )
    const single = queue.run('calm', async () => void order.push('calm'))
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
        queue.run(`caller ${i % 4}`, async () => {
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
    const running = [queue.run('a', () => gate.promise)]
    running.push(
      queue.run('a', async () => {}),
      queue.run('a', async () => {}),
    )
    await expect(queue.run('a', async () => {})).rejects.toMatchObject({
      code: 'overloaded',
      retryAfterSeconds: 1,
    })
    running.push(queue.run('b', async () => {}))
    await expect(queue.run('c', async () => {})).rejects.toMatchObject({ code: 'overloaded' })
    gate.release()
    await Promise.all(running)
  })

  test('who leaves while waiting makes room and is never started', async () => {
    const queue = new QueryQueue({ maxRunning: 1, maxWaitingPerCaller: 2, maxWaiting: 3, ...patient })
    const gate = held()
    const first = queue.run('a', () => gate.promise)
    const caller = new AbortController()
    let started = false
    const gone = queue.run(
      'a',
      async () => {
        started = true
      },
      caller.signal,
    )
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
      time,
    })
    const gate = held()
    const running = queue.run('a', () => gate.promise)
    const early = queue.run('a', async () => 'early')
    const refused = expect(early).rejects.toMatchObject({ code: 'overloaded', retryAfterSeconds: 1 })
    time.advance(9_999)
    const late = queue.run('a', async () => 'late')
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
})
