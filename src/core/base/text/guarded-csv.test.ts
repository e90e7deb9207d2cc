import fc from 'fast-check'
import { expect, test } from 'vitest'
import { guardedCsv } from './guarded-csv.ts'

const guarded = (csv: string) => guardedCsv(Buffer.from(csv)).toString()
const written = (rows: readonly (readonly (string | number)[])[]) =>
  rows
    .map((row) => row.map((cell) => (typeof cell === 'number' ? cell : `"${cell.replaceAll('"', '""')}"`)))
    .map((row) => `${row.join(',')}\r\n`)
    .join('')

test('puts an apostrophe before texts that a spreadsheet would take for a formula', () => {
  const rows = [
    ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '="ä"&"1"'],
    ['a=1', "'=1", ' =1', '', '"=1"', 'ends with ,', 'é=\n=1'],
    ['x', -5, 0.5, -1e9, 'a"=1"', ',"=1', 'ends with ,'],
  ]
  const expected = [(rows[0] as string[]).map((cell) => `'${cell}`), ...rows.slice(1)]
  expect(guarded(written(rows))).toBe(written(expected))
})

test('changes only the beginning of cells, whatever they contain', () => {
  const cell = fc.oneof(
    fc.integer(),
    fc.string({ unit: fc.constantFrom('"', ',', '=', '-', '\r', '\n', 'ä') }),
  )
  const property = fc.property(fc.array(fc.array(cell, { minLength: 1 })), (rows) => {
    const isFormula = (one: string | number) => typeof one === 'string' && /^[=+\-@\t\r]/.test(one)
    const expected = rows.map((row) => row.map((one) => (isFormula(one) ? `'${one}` : one)))
    expect(guarded(written(rows))).toBe(written(expected))
  })
  fc.assert(property)
})
