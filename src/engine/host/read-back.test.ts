import { expect, test } from 'vitest'
import { checkReadBack } from './read-back.ts'

const given = { fsync_after_insert: '1', max_query_size: '67108864' }

test('settings that are reported as they were given are fine, whatever else is reported', () => {
  const reported = new Map([['max_threads', '8'], ...Object.entries(given)])
  expect(() => checkReadBack(given, reported)).not.toThrow()
})

test('a setting that is reported otherwise is named with both values', () => {
  const reported = new Map(Object.entries({ ...given, fsync_after_insert: '0' }))
  expect(() => checkReadBack(given, reported)).toThrow(
    'The engine ignored its settings: fsync_after_insert is 0, not 1.',
  )
})

test('a setting that is not reported at all is not taken for granted', () => {
  expect(() => checkReadBack(given, new Map([['fsync_after_insert', '1']]))).toThrow(
    'max_query_size is unknown, not 67108864',
  )
})
