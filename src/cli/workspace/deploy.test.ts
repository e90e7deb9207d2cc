import { expect, test } from 'vitest'
import { memoryOutput } from '../../../test/support/memory-io.ts'
import type { Replay } from '../../shared/replayed-requests.ts'
import { differing, replayText } from './deploy.ts'

const side = (fields: object = {}) => ({
  rows: 24,
  duration_ms: 12.14,
  rows_read: 1000,
  error: null,
  ...fields,
})
const request = (fields: object = {}) => ({
  ...{ uses: 1, tenant: false, format: 'json', outcome: 'same', before: side(), after: side() },
  ...{
    added_rows: 0,
    removed_rows: 0,
    reordered: false,
    unstable: false,
    ...fields,
  },
})
const responseOf = (...requests: object[]) =>
  ({ endpoint: 'usage', version: 3, requests, skipped: 0 }) as unknown as Replay
const textOf = (...requests: object[]) => replayText('usage', responseOf(...requests), memoryOutput())

test('says that there are no recent requests', () => {
  expect(textOf()).toBe('no recent requests of usage to replay\n')
})

test('summarizes equal requests', () => {
  const faster = request({ after: side({ duration_ms: 3.44, rows_read: 200 }) })
  expect(textOf(faster, faster)).toBe(
    [
      'replayed 2 recent requests of usage: 2 same, 0 different, 0 failed',
      '  in total: 24 → 6.9 ms, 2,000 → 400 rows read',
      '',
    ].join('\n'),
  )
})

test('lists requests that differ or fail, and escapes what they contain', () => {
  const text = textOf(
    request({ uses: 42, tenant: true, outcome: 'different', removed_rows: 3, added_rows: 1 }),
    request({
      outcome: 'failed',
      after: side({ rows: null, rows_read: null, error: { code: 'timeout', message: 'Too slow\u001b.' } }),
    }),
    request({ after: side({ duration_ms: 900 }) }),
    request({ outcome: 'different', before: side({ error: { code: 'timeout', message: 'x' } }) }),
  )
  expect(text.split('\n').slice(0, -2)).toEqual([
    'replayed 4 recent requests of usage: 1 same, 2 different, 1 failed',
    '  different  42 uses, tenant: 3 rows removed; 1 row added; 12 → 12 ms, 1,000 → 1,000 rows read',
    '  failed     1 use: timeout: Too slow\\u001b.',
    '  different  1 use: failed before with timeout, now 24 rows',
  ])
})

test('shows values where the service returns them', () => {
  const example = { before: { n: 1 }, after: { n: 2 } }
  const shown = { parameters: { interval: 'daily' }, project: 'demo', examples: [example] }
  expect(textOf(request({ outcome: 'different', removed_rows: 2, ...shown }))).toContain(
    '  different  1 use, project demo, interval=daily: 2 rows removed; 12 → 12 ms, 1,000 → 1,000 rows read\n' +
      '    {"before":{"n":1},"after":{"n":2}}\n',
  )
})

test('reports another order, rows that vary anyway, and requests for which there was no time', () => {
  const varying = request({ outcome: 'different', reordered: true, unstable: true })
  const text = replayText('usage', { ...responseOf(varying), skipped: 7 }, memoryOutput())
  expect(text).toContain(
    '1 use: rows in another order; the current version also returns other rows each time;',
  )
  expect(text).toContain('  skipped    7 requests: the time was over\n')
  expect(replayText('usage', { ...responseOf(), skipped: 7 }, memoryOutput())).toContain('replayed 0 recent')
})

test('counts requests that differ or fail', () => {
  const response = responseOf(request(), request({ outcome: 'failed' }), request({ outcome: 'different' }))
  expect(differing(response)).toHaveLength(2)
})
