import { expect, test } from 'vitest'
import { bySeverity, keyOf } from './group-order.ts'

test('groups that fire come first, otherwise in their order', () => {
  const groups = [
    ['a', 'ok'],
    ['b', 'pending'],
    ['c', 'firing'],
    ['d', 'ok'],
    ['e', 'firing'],
  ] as const
  const sorted = bySeverity(groups.map(([name, state]) => ({ name, state })))
  expect(sorted.map(({ name }) => name).join('')).toBe('cebad')
})

test('shows empty values of a key', () => {
  expect(keyOf({ service: '', region: null, code: 7 })).toBe('(empty), null, 7')
})
