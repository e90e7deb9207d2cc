import { expect, test } from 'vitest'
import { ReadyWaiters } from './server-engine.ts'

const long = 60_000

test('resolves and rejects all waiting callers', async () => {
  const waiters = new ReadyWaiters()
  const ready = [waiters.wait(long), waiters.wait(long)]
  waiters.resolve()
  await Promise.all(ready)
  const closed = expect(waiters.wait(long)).rejects.toThrow('closed')
  waiters.reject(new Error('closed'))
  await closed
})

test('times out', async () => {
  await expect(new ReadyWaiters().wait(1)).rejects.toThrow('did not become ready in time')
})

test('rejects when the signal is or becomes aborted', async () => {
  const waiters = new ReadyWaiters()
  await expect(waiters.wait(long, AbortSignal.abort('gone'))).rejects.toBe('gone')
  const caller = new AbortController()
  const waiting = expect(waiters.wait(long, caller.signal)).rejects.toBe('gone')
  caller.abort('gone')
  await waiting
})
