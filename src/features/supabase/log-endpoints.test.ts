import { expect, test } from 'vitest'
import { wrapObjects } from './log-endpoints.ts'

const wrapped = async (text: string) => (await wrapObjects(Buffer.from(text))).toString()

test('wraps objects inside of rows, and leaves the rest byte for byte', async () => {
  expect(await wrapped('{"result":[]}')).toBe('{"result":[]}')
  expect(await wrapped('{"result":[{"a":1.50,"b":12345678901234567890,"c":"{\\"x\\":[{}]}\\\\"}]}')).toBe(
    '{"result":[{"a":1.50,"b":12345678901234567890,"c":"{\\"x\\":[{}]}\\\\"}]}',
  )
  expect(
    await wrapped(
      '{"result":[\n{"m":{"r":{"h":{}},"n":null}},\n{"m":{"l":[{"a":{"b":1}},2,[{"c":{}}]]}}\n]}',
    ),
  ).toBe(
    '{"result":[\n{"m":[{"r":[{"h":[{}]}],"n":null}]},\n{"m":[{"l":[{"a":[{"b":1}]},2,[{"c":[{}]}]]}]}\n]}',
  )
})

test('lets other work run while it wraps a long response, wherever its escapes are', async () => {
  const text = (length: number) => '\\"'.repeat(length / 2)
  for (const before of ['', 'x']) {
    let turns = 0
    let next = setImmediate(function turn() {
      turns++
      next = setImmediate(turn)
    })
    const row = (nested: string) => `{"result":[{"m":${nested},"t":"${before}${text(4 * 2 ** 20)}"}]}`
    expect(await wrapped(row('{"a":{}}'))).toBe(row('[{"a":[{}]}]'))
    clearImmediate(next)
    expect(turns).toBeGreaterThanOrEqual(30)
  }
})
