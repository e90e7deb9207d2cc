import { expect, test } from 'vitest'
import { formatLock, parseLock } from './seen-versions.ts'

const staging = 'https://staging.example.com'
const production = 'https://wellhead.example.com/base'

test('a lock file has a sorted line for each definition of each service, and is read as it was written', () => {
  const versions = new Map([
    [`${production} endpoints/usage.daily`, 7],
    [`${staging} endpoints/usage.daily`, 12],
    [`${production} alerts/errors`, 1],
  ])
  const text = formatLock(versions)
  expect(text.split('\n').slice(2)).toEqual([
    `${staging} endpoints/usage.daily 12`,
    `${production} alerts/errors 1`,
    `${production} endpoints/usage.daily 7`,
    '',
  ])
  expect(parseLock(text)).toEqual(versions)
  expect(parseLock(text.replaceAll('\n', '\r\n'))).toEqual(versions)
  expect(parseLock('')).toEqual(new Map())
})

test('a merge conflict, or both sides of one, is read as the highest versions', () => {
  const conflict = [
    `${staging} alerts/errors 3`,
    '<<<<<<< HEAD',
    `${staging} endpoints/a 4`,
    `${staging} endpoints/b 2`,
    '||||||| 1f2e3d4',
    `${staging} endpoints/a 1`,
    '=======',
    `${staging} endpoints/a 3`,
    `${staging} endpoints/c 1`,
    '>>>>>>> other',
  ]
  const merged = new Map([
    [`${staging} alerts/errors`, 3],
    [`${staging} endpoints/a`, 4],
    [`${staging} endpoints/b`, 2],
    [`${staging} endpoints/c`, 1],
  ])
  expect(parseLock(conflict.join('\n'))).toEqual(merged)
  const union = conflict.filter((line) => line.startsWith('https'))
  expect(parseLock(union.join('\n'))).toEqual(merged)
})

test.each([
  '{"version":1}',
  `${staging} endpoints/a`,
  `${staging} endpoints/a 0`,
  'endpoints/a 1',
  `${staging} a 1 2`,
])('the line %j is refused with its number, and what to do', (line) => {
  expect(() => parseLock(`# head\n${line}\n`)).toThrow(/^wellhead\.lock:2: .*delete it and run wellhead pull/)
})
