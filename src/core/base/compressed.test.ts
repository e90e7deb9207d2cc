import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { compressedNow } from './compressed.ts'

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
