import { expect, test } from 'vitest'
import { defaultSplit, fieldOfPath, fieldsOf, splitFields } from './source-fields.ts'

const column = (name: string, path = name, type: 'text' | 'number' = 'text') => ({ name, path, type })
const columns = [
  column('method', 'request.method'),
  column('status_code', 'response.status_code', 'number'),
  column('time', 'time', 'number'),
  column('level'),
]
const path = (field: string, distinct: number | null = 1) => ({
  field,
  column: null,
  entries: 1,
  sampled: 4,
  distinct,
  values: distinct === null ? [] : [{ value: 'x', count: 1 }],
})

test('lists short names, columns, fields of every entry and paths, each once', () => {
  const names = fieldsOf(columns, [path('request.method'), path('level'), path('a.b'), path('status')]).map(
    ({ name }) => name,
  )
  const own = ['message', 'project', 'id']
  expect(names).toEqual([
    'status',
    'method',
    'status_code',
    'time',
    'level',
    ...own,
    'request.method',
    'a.b',
    'metadata.status',
  ])
})

test('splits by the status, else by the level', () => {
  expect(splitFields(columns, [path('a.b'), path('status'), path('trace_id', null)])).toEqual([
    'method',
    'status_code',
    'level',
    'a.b',
    'metadata.status',
  ])
  expect(fieldsOf([], [path('a'), path('b', null)]).slice(-2)).toEqual([
    { name: 'a', note: '25 %, 1 value' },
    { name: 'b', note: '25 %, more than 50 values' },
  ])
  expect(defaultSplit(columns)).toBe('status_code')
  expect(defaultSplit([column('error_severity', 'parsed.error_severity')])).toBe('error_severity')
  expect(defaultSplit([column('topic'), column('zoom_level')])).toBeUndefined()
  const upstream = [column('upstream_status', 'upstream_status', 'number'), column('size', 'size', 'number')]
  expect([splitFields(upstream, []), defaultSplit(upstream)]).toEqual([
    ['upstream_status'],
    'upstream_status',
  ])
})

test('names a path so that it does not mean a column or a field of the entry', () => {
  const named = ['a.b', 'level', 'status', 'method', 'id', 'response.status_code'].map((one) =>
    fieldOfPath(one, columns),
  )
  expect(named).toEqual([
    'a.b',
    'level',
    'metadata.status',
    'metadata.method',
    'metadata.id',
    'response.status_code',
  ])
})
