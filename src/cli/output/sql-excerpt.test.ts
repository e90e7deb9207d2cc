import stringWidth from 'string-width'
import { expect, test } from 'vitest'
import { sqlExcerpt } from './table.ts'

test('shows the line with a mark under the column', () => {
  expect(sqlExcerpt('SELECT 1,\n  nothing\nFROM x', { line: 2, column: 3 }, 80)).toBe(
    '2 |   nothing\n  |   ^',
  )
})

test('the mark may follow the last character', () => {
  expect(sqlExcerpt('SELECT', { line: 1, column: 7 }, 80)).toBe('1 | SELECT\n  |       ^')
})

test('tabs, wide characters and control characters do not move the mark', () => {
  expect(sqlExcerpt('\tx', { line: 1, column: 2 }, 80)).toBe('1 |  x\n  |  ^')
  expect(sqlExcerpt("'日本' x\r", { line: 1, column: 6 }, 80)).toBe("1 | '日本' x\n  |        ^")
  expect(sqlExcerpt("'\u001b[2J' x", { line: 1, column: 8 }, 80)).toBe(
    "1 | '\\u001b[2J' x\n  |             ^",
  )
})

test('a long line is cut on both sides of the position', () => {
  const sql = `${'a'.repeat(500)} wrong ${'b'.repeat(500)}`
  const excerpt = sqlExcerpt(sql, { line: 1, column: 502 }, 70) ?? ''
  const [line = '', mark = ''] = excerpt.split('\n')
  expect(stringWidth(line)).toBe(70)
  expect(line.slice(mark.indexOf('^'))).toMatch(/^wrong b+…$/)
})

test('a position that is not in the SQL has no excerpt', () => {
  expect(sqlExcerpt('SELECT 1', { line: 2, column: 1 }, 80)).toBeUndefined()
})
