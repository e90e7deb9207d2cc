import { expect, test } from 'vitest'
import { suggestedFix } from './suggested-fix.ts'

test.each([
  [
    'SELECT id,\n  route FROM shop',
    {
      message: 'There is no column route. Did you mean metadata.route::Nullable(String)?',
      line: 2,
      column: 3,
    },
    'SELECT id,\n  metadata.route::Nullable(String) FROM shop',
  ],
  [
    'SELECT s.route, 1 FROM shop s',
    {
      message: 'There is no column s.route. Did you mean s.metadata.route::Array(String)?',
      line: 1,
      column: 8,
    },
    'SELECT s.metadata.route::Array(String), 1 FROM shop s',
  ],
  [
    'SELECT @hors',
    {
      message: '@hors is not declared, so it is null unless a caller sends it. Did you mean @hours?',
      line: 1,
      column: 8,
    },
    'SELECT @hours',
  ],
])('replaces the name in %j', (query, problem, fixed) => {
  expect(suggestedFix(query, problem)?.query).toBe(fixed)
})

test('has no suggestion for another text, without a position, or without a sentence', () => {
  const message = 'There is no column route. Did you mean metadata.route?'
  expect(suggestedFix('SELECT id FROM shop', { message, line: 1, column: 8 })).toBeUndefined()
  expect(suggestedFix('SELECT route', { message })).toBeUndefined()
  expect(
    suggestedFix('SELECT route', { message: 'There is no column route.', line: 1, column: 8 }),
  ).toBeUndefined()
})
