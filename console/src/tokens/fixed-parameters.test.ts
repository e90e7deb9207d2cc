import { expect, test } from 'vitest'
import { readPairs } from './fixed-parameters.ts'

test('reads non-empty rows as parameters', () => {
  const pairs = [
    { name: ' project_tier ', value: 'PRO' },
    { name: '', value: '' },
    { name: '@path', value: '' },
  ]
  expect(readPairs(pairs)).toEqual({ parameters: { project_tier: 'PRO', path: '' } })
})

test.each([
  ['project_tier: PRO', '', 'is not a parameter name'],
  ['my-param', '1', 'is not a parameter name'],
  ['__proto__', '1', 'is not a parameter name'],
  ['', 'PRO', 'Enter the name'],
  ['first', '2', 'twice'],
  ['project', 'demo', 'field Project'],
])('rejects %j with the value %j', (name, value, message) => {
  const { problem } = readPairs([
    { name: 'first', value: '1' },
    { name, value },
  ])
  expect(problem).toEqual({ index: 1, message: expect.stringContaining(message) })
})
