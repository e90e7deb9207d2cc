import { expect, test } from 'vitest'
import { alertShape } from './alert.ts'

test.each([
  ['2w', true],
  ['30d', true],
  ['90s', true],
  ['5w', false],
  ['0s', false],
  ['long', false],
])('a group may be missing for %s: %s', (keep_missing, isAccepted) => {
  expect(alertShape.shape.keep_missing.safeParse(keep_missing).success).toBe(isAccepted)
})
