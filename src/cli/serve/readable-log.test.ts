import { expect, test } from 'vitest'
import { createLog, lineWriterOf } from '../../core/base/log.ts'
import { colorsFor } from '../kit/command-io.ts'
import { readableLine } from './run-service.ts'

function openLog(colors = colorsFor(false, {})) {
  let text = ''
  const output = { write: (line: string) => (text += line), dropped: 0, onDropped: () => {} }
  const log = createLog('debug', output, (line) => readableLine(line, colors))
  return {
    log,
    lines: () => text.replace(/^\d\d:\d\d:\d\d\.\d{3}/gm, 'TIME').split('\n'),
  }
}

test('shows time, level, message and fields on one line', () => {
  const { log, lines } = openLog()
  log.warn({ endpoint: 'a.b', times: 3, none: null }, 'a cached result could not be refreshed')
  log.info('started')
  expect(lines()).toEqual([
    'TIME  warn   a cached result could not be refreshed  endpoint=a.b times=3 none=null',
    'TIME  info   started',
    '',
  ])
})

test('shows requests shortly, both those of pino and those of the fast path, in order', () => {
  const { log, lines } = openLog()
  const request = { request_id: 'r-1', method: 'GET', path: '/api/status', ms: 1.25, trace_id: 't' }
  log.child({ request_id: 'r-1' }).info({ ...request, status: 200 }, 'request')
  lineWriterOf(log)?.('"request_id":"r-2","method":"GET","path":"/x","status":200,"ms":12000', 'request')
  lineWriterOf(log)?.('"request_id":"r-3","method":"GET","path":"/x","status":304,"ms":0.2', 'request')
  log.info({ ...request, status: 503 }, 'request')
  expect(lines()).toEqual([
    'TIME  info   GET /api/status  200  1.25 ms',
    'TIME  info   GET /x  200  12s',
    'TIME  info   GET /x  304  0.2 ms',
    'TIME  info   GET /api/status  503  1.25 ms  r-1',
    '',
  ])
})

test('shows where an error happened, and escapes control characters', () => {
  const { log, lines } = openLog()
  log.error({ err: new Error('broken\u001b[2J') }, 'it failed\u2028')
  const [first, second, ...rest] = lines()
  expect(first).toBe('TIME  error  it failed\\u2028  broken\\u001b[2J')
  expect(second).toMatch(/^ {4}at .*readable-log\.test\.ts/)
  expect(rest.join('')).not.toContain('\u001b')
})

test('colors the level and the status', () => {
  const { log, lines } = openLog(colorsFor(true, {}))
  log.error('broken')
  log.info({ method: 'GET', path: '/', status: 404, ms: 1 }, 'request')
  const [first, second] = lines()
  expect(first).toMatch(/\u001b\[31merror\u001b\[39m {2}broken$/)
  expect(second).toContain('\u001b[33m404\u001b[39m')
})
