import { describe, expect, test } from 'vitest'
import { readResultRows } from './result-rows.ts'
import { isSame, rowDifference } from './row-difference.ts'

/** Compares lines of NDJSON. */
async function compare(before: readonly string[], after: readonly string[]) {
  const [one, other] = await Promise.all(
    [before, after].map((lines) => readResultRows(Buffer.from(lines.map((line) => `${line}\n`).join('')))),
  )
  return rowDifference(one as never, other as never)
}

async function counts(before: readonly string[], after: readonly string[]) {
  const { changed, added, removed, reordered, columns } = await compare(before, after)
  const names = columns.map((column) => `${column.name} ${column.changed}`)
  return [changed, added, removed, ...(reordered ? ['reordered'] : []), ...names].join(', ')
}

const series = (values: readonly number[], from = 0) =>
  values.map((n, i) => `{"t":"2026-01-0${from + i + 1}","n":${n}}`)

describe('readResultRows', () => {
  test('keeps the text of each column exactly', async () => {
    const line = String.raw`{"a":{"x":[1,{"y":"}],\","}]},"b\"":"{,}","c":12345678901234567890,"d":null,"e":[]}`
    expect(await readResultRows(Buffer.from(`${line}\n`))).toEqual({
      columns: ['a', 'b"', 'c', 'd', 'e'],
      rows: [[String.raw`{"x":[1,{"y":"}],\","}]}`, '"{,}"', '12345678901234567890', 'null', '[]']],
    })
    expect(await readResultRows(Buffer.from(''))).toEqual({ columns: [], rows: [] })
  })

  test('ignores the last digits of floating-point numbers, but not of whole numbers or texts', async () => {
    const same = await compare(
      ['{"a":0.1,"b":[1.25,{"c":1e-7}]}'],
      ['{"a":0.10000000000000002,"b":[1.2500000000000002,{"c":0.0000001}]}'],
    )
    expect(isSame(same)).toBe(true)
    expect(await counts(['{"a":0.1}'], ['{"a":0.1000000001}'])).toBe('1, 0, 0, a 1')
    expect(await counts(['{"a":12345678901234567890}'], ['{"a":12345678901234567891}'])).toBe('1, 0, 0, a 1')
    expect(await counts(['{"a":"0.1"}'], ['{"a":"0.10000000000000002"}'])).toBe('1, 0, 0, a 1')
    expect(await counts(['{"price":999999999999.99}'], ['{"price":999999999999.98}'])).toBe(
      '1, 0, 0, price 1',
    )
  })

  test('lets other work run while it reads a large result', async () => {
    let turns = 0
    const clockwork = setInterval(() => turns++, 0)
    const line = `{"text":"${'x'.repeat(2 ** 16)}"}\n`
    await readResultRows(Buffer.from(line.repeat(200)))
    clearInterval(clockwork)
    expect(turns).toBeGreaterThan(0)
  })
})

describe('rowDifference', () => {
  test.each([
    ['equal rows', series([1, 2]), series([1, 2]), '0, 0, 0'],
    ['no rows', [], [], '0, 0, 0'],
    ['a changed value', series([1, 2, 3]), series([1, 5, 3]), '1, 0, 0, n 1'],
    ['rows added at the start', series([2, 3], 1), series([1, 2, 3]), '0, 1, 0'],
    ['rows removed at the start', series([1, 2, 3]), series([2, 3], 1), '0, 0, 1'],
    ['a removed row and other values', series([1, 2, 3, 4]), series([7, 8, 9], 1), '3, 0, 1, n 3'],
    ['all rows removed', series([1, 2]), [], '0, 0, 2'],
    ['all rows added', [], series([1, 2]), '0, 2, 0'],
    ['another order', series([1, 2]), series([1, 2]).toReversed(), '0, 0, 0, reordered'],
    ['another order of equal rows', ['{"n":1}', '{"n":1}'], ['{"n":1}', '{"n":1}'], '0, 0, 0'],
    ['fewer equal rows', ['{"n":1}', '{"n":1}'], ['{"n":1}'], '0, 0, 1'],
    ['one aggregate', ['{"n":5}'], ['{"n":6}'], '1, 0, 0, n 1'],
    ['another order of columns', ['{"a":1,"b":2}'], ['{"b":2,"a":1}'], '0, 0, 0'],
    [
      'an added column',
      series([1, 2]),
      series([1, 2]).map((row) => row.replace('}', ',"m":0}')),
      '2, 0, 0, m 2',
    ],
    ['a removed column', ['{"a":1,"b":2}'], ['{"a":1}'], '1, 0, 0, b 1'],
    ['a renamed column', ['{"a":1}'], ['{"b":1}'], '1, 0, 0, a 1, b 1'],
    [
      'an added column and a changed value',
      ['{"k":1,"n":1}', '{"k":2,"n":2}'],
      ['{"k":1,"n":1,"m":0}', '{"k":2,"n":3,"m":0}'],
      '2, 0, 0, n 1, m 2',
    ],
    [
      'rows that two columns identify',
      ['{"t":1,"s":"a","n":1}', '{"t":1,"s":"b","n":1}', '{"t":2,"s":"a","n":1}', '{"t":2,"s":"b","n":1}'],
      ['{"t":1,"s":"b","n":9}', '{"t":2,"s":"a","n":9}', '{"t":2,"s":"b","n":9}'],
      '3, 0, 1, n 3',
    ],
    [
      'rows that a later column identifies',
      ['{"n":3,"path":"/a"}', '{"n":2,"path":"/b"}', '{"n":1,"path":"/c"}'],
      ['{"n":8,"path":"/c"}', '{"n":7,"path":"/a"}', '{"n":6,"path":"/d"}'],
      '2, 1, 1, n 2',
    ],
    ['null and the text null', ['{"a":null}'], ['{"a":"null"}'], '1, 0, 0, a 1'],
  ])('%s', async (_, before, after, expected) => {
    expect(await counts(before, after)).toBe(expected)
    expect(isSame(await compare(before, after))).toBe(expected === '0, 0, 0')
  })

  test('gives a few examples, with the names of both results', async () => {
    const before = ['{"k":1,"n":1}', '{"k":2,"n":2}', '{"k":4,"n":4}']
    const { names, examples } = await compare(before, ['{"k":1,"n":7}', '{"k":2,"n":2}', '{"k":5,"n":5}'])
    expect(names).toEqual(['k', 'n'])
    expect(examples).toEqual([
      { before: ['1', '1'], after: ['1', '7'] },
      { before: ['4', '4'], after: undefined },
      { before: undefined, after: ['5', '5'] },
    ])
    expect((await compare(series([1, 2, 3, 4, 5, 6, 7]), [])).examples).toHaveLength(5)
  })

  test('compares 10,000 rows of which all differ', async () => {
    const rows = (n: number) =>
      Array.from({ length: 10_000 }, (_, i) => `{"id":"${i}","a":"x","n":${i + n}.5}`)
    expect(await counts(rows(0), rows(1).slice(1))).toBe('9999, 0, 1, n 9999')
  })
})
