import { describe, expect, test } from 'vitest'
import { type OutputFormat, outputFormats } from './output-formats.ts'

const format = (name: string) => outputFormats.find((candidate) => candidate.name === name) as OutputFormat
const cut = (name: string, body: string, maxRows: number) => {
  const result = format(name).cut?.(Buffer.from(body), maxRows)
  return { ...result, body: result?.body.toString() }
}

describe('truncating a result', () => {
  const array = '[\n{"a":1},\n{"a":"]\\n"},\n{"a":3}\n]\n'
  const nested = '[\n{"a":[1]}\n]\n'
  const lines = '{"a":1}\n{"a":2}\n'
  const csv = '"a"\n"x\ny ""z"""\n"2"\n"3"\n'

  test.each([
    ['json', array, 3, { body: array.trimEnd(), rows: 3, truncated: false }],
    ['json', array, 2, { body: '[\n{"a":1},\n{"a":"]\\n"}\n]', rows: 2, truncated: true }],
    ['json', array, 1, { body: '[\n{"a":1}\n]', rows: 1, truncated: true }],
    ['json', '[\n\n]\n', 1, { body: '[]', rows: 0, truncated: false }],
    ['json', nested, 1, { body: nested.trimEnd(), rows: 1, truncated: false }],
    ['ndjson', lines, 1, { body: '{"a":1}\n', rows: 1, truncated: true }],
    ['ndjson', lines, 2, { body: lines, rows: 2, truncated: false }],
    ['ndjson', '', 2, { body: '', rows: 0, truncated: false }],
    // A line break between quotes belongs to the value.
    ['csv', csv, 1, { body: '"a"\n"x\ny ""z"""\n', rows: 1, truncated: true }],
    ['csv', csv, 3, { body: csv, rows: 3, truncated: false }],
  ])('of %s %j at %i rows gives %j', (name, body, maxRows, expected) => {
    expect(cut(name, body, maxRows)).toEqual(expected)
  })

  test('gives valid JSON with at most the maximum number of rows', () => {
    for (let rows = 1; rows < 20; rows++) {
      const texts = Array.from({ length: rows }, (_, i) =>
        JSON.stringify({ i, text: ']\n},\n', list: [[i]] }),
      )
      for (let max = 1; max < 20; max++) {
        const result = cut('json', `[\n${texts.join(',\n')}\n]\n`, max)
        expect(JSON.parse(result.body as string)).toHaveLength(Math.min(rows, max))
        expect(result.truncated).toBe(rows > max)
      }
    }
  })
})
