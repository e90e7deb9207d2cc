import { expect, test } from 'vitest'
import { proposedColumns } from './list-columns.ts'

const proposed = (...entries: object[]) => proposedColumns(entries).map(({ path, kind }) => `${kind} ${path}`)

test('proposes what differs, in the order in which people read it', () => {
  const entry = (status: number, ms: number, more: object = {}) => ({
    level: 30 + (status >= 500 ? 20 : 0),
    req: { method: status === 201 ? 'POST' : 'GET', url: `/orders/${ms}`, route: `/orders/:${ms % 2}` },
    res: { statusCode: status },
    responseTime: ms,
    hostname: 'api-1',
    ...more,
  })
  expect(
    proposed(entry(200, 3), entry(201, 4), entry(500, 5, { err: { message: 'connect ECONNREFUSED' } })),
  ).toEqual([
    'level level',
    'method req.method',
    'route req.route',
    'status res.statusCode',
    'duration responseTime',
    'error err.message',
  ])
})

test('reads attributes of OpenTelemetry, whose keys have dots', () => {
  const entry = (status: number) => ({
    severity_text: 'INFO',
    attributes: {
      'http.request.method': 'GET',
      'http.response.status_code': status,
      'http.route': `/${status}`,
    },
    ...(status > 200 && { exception: { message: 'no such order' } }),
  })
  expect(proposed(entry(200), entry(404))).toEqual([
    'route attributes.http%2Eroute',
    'status attributes.http%2Eresponse%2Estatus_code',
    'error exception.message',
  ])
})

test('proposes nothing where entries are the same, empty or absent', () => {
  expect(proposed()).toEqual([])
  expect(proposed({ level: 'info', status: 200 }, { level: 'info', status: 200 })).toEqual([])
  expect(proposed({ error: '', duration: null, path: [] }, { error: null })).toEqual([])
})

test.each(['ms', 'duration', 'responseTime', 'origin_time', 'response.origin_time'])(
  'recognizes %s as a duration',
  (path) => {
    const entry = (value: number) =>
      path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)
    expect(proposed(entry(1) as object, entry(2) as object)).toEqual([`duration ${path}`])
  },
)
