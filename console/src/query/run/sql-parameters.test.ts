import { expect, test } from 'vitest'
import { likelyType } from './sql-parameters.ts'

test.each([
  ['500', 'integer'],
  ['-1', 'integer'],
  ['0', 'integer'],
  ['0.95', 'number'],
  ['true', 'boolean'],
  ['2026-01-31T12:00:00Z', 'timestamp'],
  ['2026-01-31T12:00:00.5+01:00', 'timestamp'],
  ['007', 'string'],
  ['1234567890123456789', 'string'],
  ['1e3', 'string'],
  ['2026-01-31', 'string'],
  [' 5', 'string'],
  ['', 'string'],
])('reads %j as %s', (value, type) => {
  expect(likelyType('x', value)).toBe(type)
})
