import { expect, test } from 'vitest'
import { withoutStatements } from './engine-process.ts'

test('the last words of an engine keep neither the query that ran nor a text of it', () => {
  const words =
    "2026.11.15 20:00:00.1 [ 7 ] <Fatal> BaseDaemon: (version 25.5) (from thread 9) (query_id: q1) (query: SELECT 'hush'\n" +
    '  || secret(1)) Received signal Segmentation fault (11)\n' +
    "2026.11.15 20:00:00.2 [ 7 ] <Fatal> BaseDaemon: Address: 0x0. near 'hush'"
  const told = withoutStatements(words)
  expect(told).toContain('(query_id: q1) (query: …) Received signal Segmentation fault')
  expect(told).toContain('Address: 0x0')
  expect(told).not.toMatch(/hush|secret/)
})
