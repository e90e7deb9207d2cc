import { expect, test } from 'vitest'
import { Rules } from './rules.ts'

test('entries that a later rule drops do not count for the rules that changed them', () => {
  const rules = new Rules(
    [{ redact: 'user' }, { mask: ['ip'] }, { drop: 'level:debug' }, { remove: 'level' }],
    () => [],
  )
  const hits: number[] = []
  const apply = (level: string) => {
    const metadata = Buffer.from(JSON.stringify({ user: 'a', level }))
    return rules.apply({ text: () => '', message: Buffer.from('"from 10.0.0.1"'), metadata }, hits)
  }
  expect(apply('debug')).toBe(false)
  expect([...hits]).toEqual([undefined, undefined, 1])
  expect(apply('info')).toBe(true)
  expect(hits).toEqual([1, 1, 1, 1])
})
