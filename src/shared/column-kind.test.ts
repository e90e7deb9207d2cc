import { expect, test } from 'vitest'
import { columnKindOf, isOfKind } from './column-kind.ts'

test.each([
  ['level', ['level', 'log_level', 'severity_text', 'record.errorSeverity']],
  ['method', ['method', 'req.requestMethod', 'upstream_method']],
  ['route', ['attributes.http%2Eroute', 'request.path']],
  ['status', ['res.statusCode', 'upstream_status', 'attributes.http%2Eresponse%2Estatus_code']],
  ['duration', ['ms', 'db_ms', 'duration_s', 'latencyUs', 'took_ns', 'p95_execution_time_seconds']],
  ['error', ['err.message', 'api_error_msg', 'exception']],
  [undefined, ['items', 'http.status_text', 'zoom_level', 'file_path', 'terrors', 'timestamps', '']],
])('recognizes paths of kind %s', (kind, paths) => {
  expect(paths.filter((path) => columnKindOf(path) !== kind)).toEqual([])
})

test('a column has the kind of its name or of its path', () => {
  const isStatus = (name: string, path: string) => isOfKind({ name, path }, 'status')
  expect([isStatus('code', 'response.status_code'), isStatus('http_status', 'http.response.code')]).toEqual([
    true,
    true,
  ])
  expect(isStatus('zoom_level', 'zoom')).toBe(false)
})
