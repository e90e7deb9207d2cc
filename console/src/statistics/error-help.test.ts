import { expect, test } from 'vitest'
import page from '../../../docs/reference/errors.md?raw'
import { meaningOf } from './error-help.tsx'

test('finds the meaning of a code in the documentation', () => {
  expect(meaningOf(page, 'query_timeout')).toBe('The query was stopped at its time limit.')
  expect(meaningOf(page, 'from_the_future')).toBe('Not documented.')
})
