import { expect, test } from 'vitest'
import { readPairs } from './fixed-parameters.ts'

test('lines with something in them are parameters', () => {
  const pairs = [
    { name: ' project_tier ', value: 'PRO' },
    { name: '', value: '' },
    { name: '@path', value: '' },
  ]
  expect(readPairs(pairs)).toEqual({ parameters: { project_tier: 'PRO', path: '' } })
})

test.each([
  ['project_tier: PRO', '', 'cannot be the name'],
  ['my-param', '1', 'cannot be the name'],
  ['__proto__', '1', 'cannot be the name'],
  ['', 'PRO', 'Which parameter'],
  ['first', '2', 'twice'],
  ['project', 'demo', 'a field of its own'],
])('%j with the value %j is refused', (name, value, message) => {
  const { problem } = readPairs([
    { name: 'first', value: '1' },
    { name, value },
  ])
  expect(problem).toEqual({ index: 1, message: expect.stringContaining(message) })
})
