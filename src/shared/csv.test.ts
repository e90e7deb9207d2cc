import { expect, test } from 'vitest'
import { csvLine, csvRecords, csvTable } from './csv.ts'

const rowsOf = (text: string) => [...csvTable(text).rows()]

test('a blank line is skipped, or the null of a single column', () => {
  expect(rowsOf('\n\na\n1\n\n2\r\n\r\n')).toEqual([['1'], [null], ['2'], [null]])
  expect(rowsOf('a\n""\n\n')).toEqual([[''], [null]])
  expect(rowsOf('a,b\n\n1,2\n\n')).toEqual([['1', '2']])
})

test('blank lines before the first record are no records, because there may be millions', () => {
  expect([...csvRecords('\n\r\n\na\n\n', ',', 'read')]).toEqual([['a'], [null]])
})

test('lines that were written are read back, with one column, too', () => {
  for (const rows of [
    [[null], ['x'], [null], [''], [null]],
    [
      [null, null],
      ['x', null],
    ],
  ]) {
    const header = rows[0]?.length === 1 ? 'a' : 'a,b'
    expect(rowsOf([header, ...rows.map(csvLine)].map((line) => `${line}\n`).join(''))).toEqual(rows)
  }
})
