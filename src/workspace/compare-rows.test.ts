import { describe, expect, test } from 'vitest'
import { compareAnswer } from './compare-rows.ts'
import type { Expected } from './test-file.ts'

const expecting = (given: Partial<Expected>): Expected => ({
  rows: undefined,
  rowCount: undefined,
  status: undefined,
  code: undefined,
  ...given,
})
const answered = (...result: unknown[]) => ({ status: 200, body: { result } })
const refused = { status: 400, body: { error: { code: 'invalid_parameter', message: 'x must be y.' } } }

describe('compareAnswer', () => {
  test('rows are the same whatever the order of their columns', () => {
    const rows = [{ a: 1, b: { c: [null, 'x'] } }]
    expect(compareAnswer(expecting({ rows }), answered({ b: { c: [null, 'x'] }, a: 1 }))).toBeUndefined()
    expect(compareAnswer(expecting({ rows: [] }), answered())).toBeUndefined()
    expect(compareAnswer(expecting({ rowCount: 2 }), answered({}, {}))).toBeUndefined()
    expect(compareAnswer(expecting({ status: 200 }), answered({}))).toBeUndefined()
  })

  test('rows that differ are shown line by line, in the order of the columns that came', () => {
    const rows = [
      { n: 1, t: 'a' },
      { n: 2, t: 'b' },
    ]
    expect(compareAnswer(expecting({ rows }), answered({ t: 'a', n: 1 }, { t: 'b', n: 3 }))).toBe(
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
    expect(compareAnswer(expecting({ rows: [{ n: '1' }] }), answered({ n: 1 }))).toContain('-{"n":"1"}')
    expect(compareAnswer(expecting({ rows }), answered({ n: 2, t: 'b' }, { n: 1, t: 'a' }))).toBeDefined()
  })

  test('a long difference is cut', () => {
    const many = Array.from({ length: 1000 }, (_, n) => ({ n }))
    const told = compareAnswer(expecting({ rows: [] }), answered(...many))
    expect(told?.split('\n')).toHaveLength(202)
    expect(told).toMatch(/… and \d+ more lines$/)
  })

  test('errors are compared by status and code, as far as they are given', () => {
    expect(compareAnswer(expecting({ status: 400 }), refused)).toBeUndefined()
    expect(compareAnswer(expecting({ code: 'invalid_parameter' }), refused)).toBeUndefined()
    expect(compareAnswer(expecting({ status: 404, code: 'x' }), refused)).toBe(
      'Expected 404 x, got 400 invalid_parameter: x must be y.',
    )
    expect(compareAnswer(expecting({ rows: [] }), refused)).toBe(
      'Expected 200, got 400 invalid_parameter: x must be y.',
    )
    expect(compareAnswer(expecting({ status: 400 }), answered({}))).toBe('Expected 400, got 200 with 1 row')
  })

  test('a test that expects nothing fails, and says how to write it down', () => {
    expect(compareAnswer(expecting({}), answered({}, {}))).toMatch(
      /expects nothing, and got 2 rows\. .*--update/,
    )
  })
})
