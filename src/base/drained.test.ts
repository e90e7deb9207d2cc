import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { drained } from './drained.ts'

test('waits until there is room, and leaves nothing behind', async () => {
  const stream = new PassThrough({ highWaterMark: 1 })
  const listeners = () => stream.listenerCount('drain') + stream.listenerCount('close')
  const before = listeners()
  stream.write('a')
  const waiting = drained(stream)
  stream.read()
  await waiting
  expect(listeners()).toBe(before)
})

test('does not wait for a stream that is closed meanwhile', async () => {
  const stream = new PassThrough({ highWaterMark: 1 })
  stream.write('a')
  const waiting = drained(stream)
  stream.destroy()
  await expect(waiting).resolves.toBeUndefined()
})
