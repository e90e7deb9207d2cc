import { expect, test } from 'vitest'
import type { Entry } from '../../api/shapes.ts'
import { cellOf, kindOf, titleOf } from './entry-columns.ts'

const entry = (metadata: Record<string, unknown>): Entry => ({
  ...{ id: 'a', project: 'shop', timestamp: 0, event_message: 'request completed' },
  metadata,
})

test.each([
  ['level', { level: 50 }, 'error', 'bad'],
  ['level', { level: 'WARN' }, 'warn', 'warn'],
  ['res.statusCode', { res: { statusCode: 503 } }, '503', 'bad'],
  [
    'attributes.http%2Eresponse%2Estatus_code',
    { attributes: { 'http.response.status_code': 404 } },
    '404',
    'warn',
  ],
  ['responseTime', { responseTime: 1234.5 }, '1.23 s', 'plain'],
  ['ms', { ms: 12 }, '12 ms', 'plain'],
  ['duration_s', { duration_s: 0.42 }, '0.42 s', 'plain'],
  ['duration', { duration: 7 }, '7', 'plain'],
  ['duration', { duration: 59_480_000 }, '59,480,000', 'plain'],
  ['took_ns', { took_ns: 5_000_000 }, '5 ms', 'plain'],
  ['err.message', { err: { message: 'ECONNREFUSED' } }, 'ECONNREFUSED', 'bad'],
  ['metadata.project', { project: 'inner' }, 'inner', 'plain'],
  ['project', { project: 'inner' }, 'shop', 'plain'],
  ['message', {}, 'request completed', 'plain'],
  ['tags', { tags: ['a', 'b'] }, '["a","b"]', 'plain'],
  ['toString', {}, '', 'plain'],
  ['customer.id.more', { customer: { id: 'x' } }, '', 'plain'],
])('shows %s', (path, metadata, text, tone) => {
  expect(cellOf(entry(metadata), path)).toEqual({ text, tone })
})

test('names columns by their last key, and by two where one says little', () => {
  expect(['customer.id', 'res.statusCode', 'attributes.http%2Eroute', 'err.message'].map(titleOf)).toEqual([
    'customer.id',
    'statusCode',
    '"http.route"',
    'err.message',
  ])
})

test('does not take other fields for times or levels', () => {
  expect(['items', 'http.status_text', 'class', 'terrors', 'timestamps'].map(kindOf)).toEqual(
    Array.from({ length: 5 }, () => 'text'),
  )
})
