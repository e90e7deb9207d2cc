import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { ByteBudget } from './intake-limits.ts'
import { readRequestBody } from './request-body.ts'

test('a large body is gathered in several turns of the event loop', async () => {
  const chunk = Buffer.alloc(2 ** 20, 'x')
  let turns: number | undefined
  let isOver = false
  async function* chunks() {
    for (let n = 0; n < 32; n++) yield chunk
    turns = 0
    const count = () => {
      turns = (turns as number) + 1
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
  }
  const body = await readRequestBody(
    Readable.from(chunks()),
    undefined,
    new ByteBudget(1).share('a'),
    undefined,
    {
      maxSentBytes: 2 ** 30,
      maxUnpackedBytes: 2 ** 30,
      tooLarge: () => new Error('too large'),
      unpackedTooLarge: () => new Error('too large'),
    },
  )
  isOver = true
  expect(body.equals(Buffer.alloc(32 * 2 ** 20, 'x'))).toBe(true)
  expect(turns).toBeGreaterThanOrEqual(15)
})
