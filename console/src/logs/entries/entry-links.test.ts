import { expect, test } from 'vitest'
import { entryLink, traceLinks } from './entry-links.ts'

const entry = (metadata: Record<string, unknown>) => ({
  id: 'a b&c',
  timestamp: 1_767_225_600_000_001,
  project: 'shop',
  event_message: '',
  metadata,
})

test('links to an entry', () => {
  expect(entryLink('edge_logs', entry({}))).toBe(
    '/console/logs?source=edge_logs&project=shop&entry=a+b%26c&at=1767225600000001',
  )
})

test('finds trace and request ids at any level, in the spellings of log libraries', () => {
  const found = traceLinks(
    'edge_logs',
    entry({
      traceId: 't1',
      request_id: 5,
      request: { headers: { 'x-request-id': 'r 1', id: 'x' } },
      list: [{ trace_id: 'y' }],
    }),
  )
  expect(found.map(({ path, value }) => `${path} ${value}`)).toEqual([
    'traceId t1',
    'request.headers.x-request-id r 1',
  ])
  const { searchParams } = new URL(found[1]?.href ?? '', 'http://x')
  expect(searchParams.get('trace')).toBe('r 1')
  expect(searchParams.get('from')).toBe('2025-12-31T23:00:00.000Z')
})
