import { describe, expect, test } from 'vitest'
import { memoryOutput } from '../../../test/support/memory-io.ts'
import { formatRows } from './result-table.ts'
import { formatTable } from './table.ts'
import { cutToWidth, textWidth, visible } from './text-width.ts'

const columns = [{ title: 'NAME' }, { title: 'COUNT', align: 'right' as const }]

test('columns are as wide as their widest cell, numbers to the right', () => {
  const rows = [
    ['a', '1'],
    ['longer', '1000'],
  ]
  expect(formatTable(columns, rows, memoryOutput())).toBe('NAME    COUNT\na           1\nlonger   1000\n')
})

test('wide characters do not break the alignment', () => {
  const rows = [
    ['日本', '1'],
    ['é', '2'],
    ['e\u0301', '3'],
    ['👩‍👩‍👧', '4'],
    ['ab', '5'],
  ]
  const lines = formatTable(columns, rows, memoryOutput()).trimEnd().split('\n')
  expect(new Set(lines.map(textWidth))).toEqual(new Set([11]))
})

test('on a terminal no line is longer than it is wide, and the widest column gives way', () => {
  const wide = [['x'.repeat(300), '12345']]
  const lines = formatTable(columns, wide, memoryOutput({ isTerminal: true, columns: 40 })).split('\n')
  expect(lines.map(textWidth)).toEqual([40, 40, 0])
  expect(lines[1]).toMatch(/^x{32}… {2}12345$/)
  expect(formatTable(columns, wide, memoryOutput())).toContain('x'.repeat(300))
})

test('what comes from logs cannot steer the terminal', () => {
  const table = formatTable([{ title: 'A' }], [['\x1b[2Jred\nline\u202e\x07']], memoryOutput())
  expect(table).toBe('A\n\\u001b[2Jred\\nline\\u202e\\u0007\n')
  expect(visible('plain ü 日本')).toBe('plain ü 日本')
})

describe('cutting', () => {
  test.each([
    ['abcdef', 6, 'abcdef'],
    ['abcdef', 5, 'abcd…'],
    ['日本語', 6, '日本語'],
    ['日本語', 5, '日本…'],
    ['日本語', 4, '日…'],
    ['日本語', 1, '…'],
    ['ab', 0, ''],
    ['', 3, ''],
  ])('%j to %d cells is %j', (text, width, expected) => {
    expect(cutToWidth(text, width)).toBe(expected)
    expect(textWidth(cutToWidth(text, width))).toBeLessThanOrEqual(width)
  })
})

test('rows of a result: microseconds as a date, objects as JSON, null as nothing', () => {
  const rows = [
    { timestamp: 1_763_197_200_123_456, n: 1, metadata: { a: [1] }, none: null },
    { timestamp: 1_763_197_200_000_000, n: 20, metadata: {}, none: null },
  ]
  expect(formatRows(rows, memoryOutput()).split('\n')).toEqual([
    '                  timestamp   n  metadata   none',
    '2025-11-15T09:00:00.123456Z   1  {"a":[1]}',
    '2025-11-15T09:00:00.000000Z  20  {}',
    '',
  ])
  expect(formatRows([], memoryOutput())).toBe('')
})
