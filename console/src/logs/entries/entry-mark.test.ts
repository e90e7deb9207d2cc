import { expect, test } from 'vitest'
import { markOf } from './entry-mark.ts'

test.each([
  [{ response: { status_code: 503 } }, { text: '503', tone: 'bad' }],
  [{ response: { status_code: '404' } }, { text: '404', tone: 'warn' }],
  [
    { level: 'info', status: 200 },
    { text: '200', tone: 'plain' },
  ],
  [
    { level: 'ERROR', status: 200 },
    { text: 'error', tone: 'bad' },
  ],
  [{ level: 40 }, { text: 'warn', tone: 'warn' }],
  [{ parsed: { error_severity: 'FATAL' } }, { text: 'fatal', tone: 'bad' }],
  [{ parsed: { error_severity: 'LOG' } }, { text: 'log', tone: 'plain' }],
  [{}, undefined],
  [{ response: null, level: { deep: 1 }, status: 'a long text of a status' }, undefined],
  [{ status: 99999, level: '' }, undefined],
])('%j', (metadata, mark) => {
  expect(markOf({ metadata })).toEqual(mark)
})
