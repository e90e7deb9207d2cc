import { describe, expect, test } from 'vitest'
import { compareResponse } from './compare-rows.ts'
import type { Expected } from './test-file.ts'

const noRows: Expected = { rows: undefined, rowCount: undefined, status: undefined, code: undefined }
const rowsResponse = (...result: unknown[]) => ({ status: 200, body: { result } })
const errorResponse = {
  status: 400,
  body: { error: { code: 'invalid_parameter', message: 'x must be y.' } },
}
const compare = (expected: Partial<Expected>, response: { status: number; body: unknown }) =>
  compareResponse({ ...noRows, ...expected }, response)

describe('compareResponse', () => {
  test('treats rows as equal whatever the order of their columns', () => {
    const rows = [{ a: 1, b: { c: [null, 'x'] } }]
    expect(compare({ rows }, rowsResponse({ b: { c: [null, 'x'] }, a: 1 }))).toBeUndefined()
    expect(compare({ rows: [] }, rowsResponse())).toBeUndefined()
    expect(compare({ rowCount: 2 }, rowsResponse({}, {}))).toBeUndefined()
    expect(compare({ status: 200 }, rowsResponse({}))).toBeUndefined()
  })

  test('shows differing rows line by line, with columns in the order of the response', () => {
    const rows = [
      { n: 1, t: 'a' },
      { n: 2, t: 'b' },
    ]
    expect(compare({ rows }, rowsResponse({ t: 'a', n: 1 }, { t: 'b', n: 3 }))).toBe(
      [
        'The rows differ',
        '--- expected',
        '+++ got',
        '@@ -1,2 +1,2 @@',
        ' {"t":"a","n":1}',
        '-{"t":"b","n":2}',
        '+{"t":"b","n":3}',
      ].join('\n'),
    )
    expect(compare({ rows: [{ n: '1' }] }, rowsResponse({ n: 1 }))).toContain('-{"n":"1"}')
    expect(compare({ rows }, rowsResponse({ n: 2, t: 'b' }, { n: 1, t: 'a' }))).toBeDefined()
  })

  test('truncates a long diff', () => {
    const many = Array.from({ length: 1000 }, (_, n) => ({ n }))
    const message = compare({ rows: [] }, rowsResponse(...many))
    expect(message?.split('\n')).toHaveLength(202)
    expect(message).toMatch(/… and \d+ more lines$/)
  })

  test.each([
    [{ status: 400 }, errorResponse, undefined],
    [{ code: 'invalid_parameter' }, errorResponse, undefined],
    [{ status: 404, code: 'x' }, errorResponse, 'Expected 404 x, got 400 invalid_parameter: x must be y.'],
    [{ rows: [] }, errorResponse, 'Expected 200, got 400 invalid_parameter: x must be y.'],
    [{ status: 400 }, rowsResponse({}), 'Expected 400, got 200 with 1 row'],
  ])('compares status and code where the test specifies them: %j', (expected, response, message) => {
    expect(compare(expected, response)).toBe(message)
  })

  test('fails a test that expects nothing, and explains how to save the rows', () => {
    expect(compare({}, rowsResponse({}, {}))).toMatch(/got 2 rows\. .*--update/)
  })
})
