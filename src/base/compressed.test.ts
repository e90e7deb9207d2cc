import { PassThrough } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { compressedNow, drained } from './compressed.ts'

test('compresses for two waiting requests at a time, and for others once those are done', async () => {
  const body = Buffer.alloc(5000, 'x')
  const [gzip, br, third] = await Promise.all([
    compressedNow('gzip', body),
    compressedNow('br', body),
    compressedNow('gzip', body),
  ])
  expect([gunzipSync(gzip as Buffer), br?.length, third]).toEqual([body, expect.any(Number), undefined])
  expect(await compressedNow('gzip', body)).toEqual(gzip)
})

test('waits for room in a stream, and leaves no listeners behind', async () => {
  const stream = new PassThrough({ highWaterMark: 1 })
  const listeners = () => stream.listenerCount('drain') + stream.listenerCount('close')
  const before = listeners()
  stream.write('a')
  const waiting = drained(stream)
  stream.read()
  await waiting
  expect(listeners()).toBe(before)
})

test('stops waiting for a stream that is closed', async () => {
  const stream = new PassThrough({ highWaterMark: 1 })
  stream.write('a')
  const waiting = drained(stream)
  stream.destroy()
  await expect(waiting).resolves.toBeUndefined()
})
