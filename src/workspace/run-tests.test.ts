import { describe, expect, test } from 'vitest'
import { loadKinds } from '../kinds.ts'
import { compareResponse } from './check-workspace.ts'

await loadKinds()

const rowsResponse = (...result: unknown[]) => ({ status: 200, body: { result } })
const errorResponse = {
  status: 400,
  body: { error: { code: 'invalid_parameter', message: 'x must be y.' } },
}

describe('compareResponse', () => {
  test('treats rows as equal whatever the order of their columns', () => {
    const rows = [{ a: 1, b: { c: [null, 'x'] } }]
    expect(compareResponse({ rows }, rowsResponse({ b: { c: [null, 'x'] }, a: 1 }))).toBeUndefined()
    expect(compareResponse({ rows: [] }, rowsResponse())).toBeUndefined()
    expect(compareResponse({ row_count: 2 }, rowsResponse({}, {}))).toBeUndefined()
    expect(compareResponse({ status: 200 }, rowsResponse({}))).toBeUndefined()
  })

  test('shows differing rows line by line, with columns in the order of the response', () => {
    const rows = [
      { n: 1, t: 'a' },
      { n: 2, t: 'b' },
    ]
    expect(compareResponse({ rows }, rowsResponse({ t: 'a', n: 1 }, { t: 'b', n: 3 }))).toBe(
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
    expect(compareResponse({ rows: [{ n: '1' }] }, rowsResponse({ n: 1 }))).toContain('-{"n":"1"}')
    expect(compareResponse({ rows }, rowsResponse({ n: 2, t: 'b' }, { n: 1, t: 'a' }))).toBeDefined()
  })

  test('truncates a long diff', () => {
    const many = Array.from({ length: 1000 }, (_, n) => ({ n }))
    const message = compareResponse({ rows: [] }, rowsResponse(...many))
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
    expect(compareResponse(expected, response)).toBe(message)
  })

  test('fails a test that expects nothing, and explains how to save the rows', () => {
    expect(compareResponse({}, rowsResponse({}, {}))).toMatch(/got 2 rows\. .*--update/)
  })
})
