import stringWidth from 'string-width'
import { expect, test } from 'vitest'
import { memoryOutput } from '../../../../test/support/memory-io.ts'
import { visible } from './format.ts'
import { formatTable } from './table.ts'

const titles = ['NAME', 'COUNT']
const wideTerminal = memoryOutput({ isTerminal: true, columns: 40 })

test('columns are as wide as their widest cell, with numbers aligned right', () => {
  const rows = [
    ['a', 1],
    ['longer', 1000],
  ]
  expect(formatTable(titles, rows, String, memoryOutput())).toBe(
    'NAME    COUNT\na           1\nlonger   1000\n',
  )
  expect(formatTable([], [], String, memoryOutput())).toBe('')
})

test('aligns wide characters', () => {
  const rows = [
    ['日本', 1],
    ['é', 2],
    ['e\u0301', 3],
    ['👩‍👩‍👧', 4],
    ['ab', 5],
  ]
  const lines = formatTable(titles, rows, String, memoryOutput()).trimEnd().split('\n')
  expect(new Set(lines.map((line) => stringWidth(line)))).toEqual(new Set([11]))
})

test('shortens the widest column to the width of the terminal', () => {
  const wide = [['x'.repeat(300), 12345]]
  const lines = formatTable(titles, wide, String, wideTerminal).split('\n')
  expect(lines.map((line) => stringWidth(line))).toEqual([40, 40, 0])
  expect(lines[1]).toMatch(/^x{32}… {2}12345$/)
  expect(formatTable(titles, wide, String, memoryOutput())).toContain('x'.repeat(300))
})

test('does not cut a wide character in half', () => {
  const [, line] = formatTable(['A'], [['日本語'.repeat(20)]], String, wideTerminal).split('\n')
  expect(line).toBe(`${'日本語'.repeat(6)}日…`)
})

test('escapes control characters of log entries', () => {
  const table = formatTable(['A\x1b'], [['\x1b[2Jred\nline\u202e\x07']], String, memoryOutput())
  expect(table).toBe('A\\u001b\n\\u001b[2Jred\\nline\\u202e\\u0007\n')
  expect(visible('plain ü 日本')).toBe('plain ü 日本')
})
