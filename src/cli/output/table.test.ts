import stringWidth from 'string-width'
import { expect, test } from 'vitest'
import { memoryOutput } from '../../../test/support/memory-io.ts'
import { visible } from './format.ts'
import { cutToWidth, formatRows, formatTable } from './table.ts'

const columns = [{ title: 'NAME' }, { title: 'COUNT', align: 'right' as const }]

test('columns are as wide as their widest cell, with numbers aligned right', () => {
  const rows = [
    ['a', '1'],
    ['longer', '1000'],
  ]
  expect(formatTable(columns, rows, memoryOutput())).toBe('NAME    COUNT\na           1\nlonger   1000\n')
})

test('aligns wide characters', () => {
  const rows = [
    ['日本', '1'],
    ['é', '2'],
    ['e\u0301', '3'],
    ['👩‍👩‍👧', '4'],
    ['ab', '5'],
  ]
  const lines = formatTable(columns, rows, memoryOutput()).trimEnd().split('\n')
  expect(new Set(lines.map((line) => stringWidth(line)))).toEqual(new Set([11]))
})

test('shortens the widest column to the width of the terminal', () => {
  const wide = [['x'.repeat(300), '12345']]
  const lines = formatTable(columns, wide, memoryOutput({ isTerminal: true, columns: 40 })).split('\n')
  expect(lines.map((line) => stringWidth(line))).toEqual([40, 40, 0])
  expect(lines[1]).toMatch(/^x{32}… {2}12345$/)
  expect(formatTable(columns, wide, memoryOutput())).toContain('x'.repeat(300))
})

test('escapes control characters of log entries', () => {
  const table = formatTable([{ title: 'A\x1b' }], [['\x1b[2Jred\nline\u202e\x07']], memoryOutput())
  expect(table).toBe('A\\u001b\n\\u001b[2Jred\\nline\\u202e\\u0007\n')
  expect(visible('plain ü 日本')).toBe('plain ü 日本')
})

test.each([
  ['abcdef', 6, 'abcdef'],
  ['abcdef', 5, 'abcd…'],
  ['日本語', 6, '日本語'],
  ['日本語', 5, '日本…'],
  ['日本語', 4, '日…'],
  ['日本語', 1, '…'],
  ['ab', 0, ''],
  ['', 3, ''],
])('cuts %j to %d cells as %j', (text, width, expected) => {
  expect(cutToWidth(text, width)).toBe(expected)
  expect(stringWidth(cutToWidth(text, width))).toBeLessThanOrEqual(width)
})

test('shows objects as JSON and null as an empty cell', () => {
  const rows = [
    { timestamp: '2025-11-15T09:00:00.123456Z', n: 1, metadata: { a: [1] }, none: null },
    { timestamp: '2025-11-15T09:00:00.000000Z', n: 20, metadata: {}, none: null },
  ]
  expect(formatRows(rows, memoryOutput()).split('\n')).toEqual([
    'timestamp                     n  metadata   none',
    '2025-11-15T09:00:00.123456Z   1  {"a":[1]}',
    '2025-11-15T09:00:00.000000Z  20  {}',
    '',
  ])
  expect(formatRows([], memoryOutput())).toBe('')
})
