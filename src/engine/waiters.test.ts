import { expect, test } from 'vitest'
import { Waiters } from './waiters.ts'

const long = 60_000

test('all who wait go on together', async () => {
  const waiters = new Waiters()
  const waiting = [waiters.wait(long), waiters.wait(long)]
  waiters.resolve()
  await Promise.all(waiting)
})

test('all who wait are told why it is in vain', async () => {
  const waiters = new Waiters()
  const waiting = expect(waiters.wait(long)).rejects.toThrow('closed')
  waiters.reject(new Error('closed'))
  await waiting
})

test('nobody waits longer than he wants to', async () => {
  await expect(new Waiters().wait(1)).rejects.toThrow('did not become ready in time')
})

test('who is gone, before or meanwhile, does not wait', async () => {
  const waiters = new Waiters()
  await expect(waiters.wait(long, AbortSignal.abort('gone'))).rejects.toBe('gone')
  const caller = new AbortController()
  const waiting = expect(waiters.wait(long, caller.signal)).rejects.toBe('gone')
  caller.abort('gone')
  await waiting
})
