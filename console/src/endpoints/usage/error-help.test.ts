import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { meaningOf } from './error-help.tsx'

test('finds the meaning of a code in the documentation', () => {
  const page = readFileSync('docs/reference/errors.md', 'utf8')
  expect(meaningOf(page, 'query_timeout')).toBe('The query was stopped at its time limit.')
  expect(meaningOf(page, 'from_the_future')).toBe('Not documented.')
})
