import { expect, test } from 'vitest'
import { wrapObjects } from './wrap-objects.ts'

const wrapped = (text: string) => wrapObjects(Buffer.from(text)).toString()

test('wraps objects inside of rows, and leaves the rest byte for byte', () => {
  expect(wrapped('{"result":[]}')).toBe('{"result":[]}')
  expect(wrapped('{"result":[{"a":1.50,"b":12345678901234567890,"c":"{\\"x\\":[{}]}\\\\"}]}')).toBe(
    '{"result":[{"a":1.50,"b":12345678901234567890,"c":"{\\"x\\":[{}]}\\\\"}]}',
  )
  expect(
    wrapped('{"result":[\n{"m":{"r":{"h":{}},"n":null}},\n{"m":{"l":[{"a":{"b":1}},2,[{"c":{}}]]}}\n]}'),
  ).toBe(
    '{"result":[\n{"m":[{"r":[{"h":[{}]}],"n":null}]},\n{"m":[{"l":[{"a":[{"b":1}]},2,[{"c":[{}]}]]}]}\n]}',
  )
})
