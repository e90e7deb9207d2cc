import { describe, expect, test } from 'vitest'
import { type OutputFormat, outputFormats } from './output-formats.ts'

const format = (name: string) => outputFormats.find((candidate) => candidate.name === name) as OutputFormat
const cut = (name: string, body: string, maxRows: number) => {
  const result = format(name).cut?.(Buffer.from(body), maxRows)
  return { ...result, body: result?.body.toString() }
}

describe('cutting a result at its most rows', () => {
  const array = '[\n{"a":1},\n{"a":"]\\n"},\n{"a":3}\n]\n'

  test('an array keeps its form', () => {
    expect(cut('json', array, 3)).toEqual({ body: array.trimEnd(), rows: 3, truncated: false })
    expect(cut('json', array, 2)).toEqual({ body: '[\n{"a":1},\n{"a":"]\\n"}\n]', rows: 2, truncated: true })
    expect(cut('json', array, 1)).toEqual({ body: '[\n{"a":1}\n]', rows: 1, truncated: true })
    expect(cut('json', '[\n\n]\n', 1)).toEqual({ body: '[]', rows: 0, truncated: false })
    expect(cut('json', '[\n{"a":[1]}\n]\n', 1)).toEqual({
      body: '[\n{"a":[1]}\n]',
      rows: 1,
      truncated: false,
    })
  })

  test('every array that was cut is still JSON, with as many rows as may be', () => {
    for (let rows = 1; rows < 20; rows++) {
      const lines = Array.from({ length: rows }, (_, i) =>
        JSON.stringify({ i, text: ']\n},\n', list: [[i]] }),
      )
      for (let max = 1; max < 20; max++) {
        const result = cut('json', `[\n${lines.join(',\n')}\n]\n`, max)
        expect(JSON.parse(result.body as string)).toHaveLength(Math.min(rows, max))
        expect(result.truncated).toBe(rows > max)
      }
    }
  })

  test('lines keep their line breaks', () => {
    expect(cut('ndjson', '{"a":1}\n{"a":2}\n', 1)).toEqual({ body: '{"a":1}\n', rows: 1, truncated: true })
    expect(cut('ndjson', '{"a":1}\n{"a":2}\n', 2)).toEqual({
      body: '{"a":1}\n{"a":2}\n',
      rows: 2,
      truncated: false,
    })
    expect(cut('ndjson', '', 2)).toEqual({ body: '', rows: 0, truncated: false })
  })

  test('a line break between quotes belongs to its value in CSV', () => {
    const csv = '"a"\n"x\ny ""z"""\n"2"\n"3"\n'
    expect(cut('csv', csv, 1)).toEqual({ body: '"a"\n"x\ny ""z"""\n', rows: 1, truncated: true })
    expect(cut('csv', csv, 3)).toEqual({ body: csv, rows: 3, truncated: false })
  })
})
