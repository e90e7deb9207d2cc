import fc from 'fast-check'
import { expect, test } from 'vitest'
import { measuredRows, rowArray, rowFormOf, rowLines } from './measured-rows.ts'

const meta = '{"meta":[{"name":"a","type":"String"}]}\n'
const progress = (rows: number) =>
  `{"progress":{"read_rows":"${rows}","read_bytes":"${rows * 8}","elapsed_ns":"12"}}\n`

function convert(text: string, asArray = false) {
  const { bytes, ...read } = measuredRows(Buffer.from(text), asArray ? rowArray : rowLines)
  return { text: bytes.toString(), ...read }
}

test('returns rows unchanged, with the counts of the last progress', () => {
  const rows = ['{"a":"x"}', '{"a":"{\\"row\\":1}"}', '{"a":"ü\\n,"}']
  const lines = rows.map((row) => `{"row":${row}}\n`)
  expect(convert([progress(10), meta, lines[0], progress(20), lines[1], lines[2]].join(''))).toEqual({
    text: rows.map((row) => `${row}\n`).join(''),
    read: { read_rows: '20', read_bytes: '160' },
  })
  expect(convert(`${meta}${lines.join(',\n')}${progress(3)}`, true)).toEqual({
    text: `[\n${rows.join(',\n')}\n]\n`,
    read: { read_rows: '3', read_bytes: '24' },
  })
})

test('handles empty results, totals and exceptions', () => {
  expect(convert('')).toEqual({ text: '', read: { read_rows: '0', read_bytes: '0' } })
  expect(convert(meta)).toEqual({ text: '', read: { read_rows: '0', read_bytes: '0' } })
  expect(convert(`${meta}{"rows_before_limit_at_least":0}\n`, true).text).toBe('[\n\n]\n')
  expect(convert(`${meta}{"row":{"a":"x"}}\n{"totals":{"a":"y"}}\n`).text).toBe('{"a":"x"}\n')
  expect(convert(`{"totals":{"a":"y"}}\n${meta}`).text).toBe('')
  expect(() => convert(`${meta}{"exception":"Code: 1. broken"}\n`)).toThrow('Code: 1. broken')
})

test('returns rows of text with the requested separators', () => {
  const settings = new Map([
    ['format_custom_escaping_rule', 'Raw'],
    ['format_custom_result_before_delimiter', '[\n'],
    ['format_custom_row_between_delimiter', ',\n'],
    ['format_custom_result_after_delimiter', '\n]\n'],
  ])
  const form = rowFormOf('SELECT r\nFORMAT CustomSeparated', settings)
  if (!form) throw new Error('no form')
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' })), (texts) => {
      const lines = texts.map((text) => `{"row":{"r":${JSON.stringify(text)}}}\n`)
      const { bytes } = measuredRows(Buffer.from(`${meta}${lines.join('')}${progress(7)}`), form)
      expect(bytes.toString()).toBe(`[\n${texts.join(',\n')}\n]\n`)
    }),
  )
  // Invalid UTF-8 is unchanged, and the name of a column can contain anything.
  const broken = Buffer.alloc(1_000, 0xff)
  const row = Buffer.concat([Buffer.from('{"row":{"a\\":\\\\":"'), broken, Buffer.from('\\u0000\\/"}}\n')])
  const { bytes } = measuredRows(Buffer.concat([Buffer.from(meta), row, row]), form)
  const text = Buffer.concat([broken, Buffer.from('\0/')])
  expect(bytes).toEqual(
    Buffer.concat([Buffer.from('[\n'), text, Buffer.from(',\n'), text, Buffer.from('\n]\n')]),
  )
  expect(rowFormOf('SELECT r\nFORMAT CustomSeparated', new Map())).toBeUndefined()
  expect(rowFormOf('SELECT r\nFORMAT CSV', settings)).toBeUndefined()
})

test('writes the text of raw columns of a template into rows', () => {
  const settings = new Map(
    [
      [
        'format_template_row_format',
        '{"a\\"$$":@{`a"$`:JSON},"b":@{`b`:Raw},"c:Raw}":@{`c:Raw}`:JSON},"d":@{`d`:Raw}}',
      ],
      ['format_template_rows_between_delimiter', ',\n'],
      ['format_template_resultset_format', '[\n@{data}\n]\n'],
    ].map(([name = '', text = '']) => [name, text.replaceAll('@', '$')]),
  )
  const form = rowFormOf('SELECT 1\nFORMAT Template', settings)
  if (!form) throw new Error('no form')
  expect(form).toEqual({
    before: '[\n',
    between: ',\n',
    behind: '',
    after: '\n]\n',
    raw: [false, true, false, true],
  })
  fc.assert(
    fc.property(fc.array(fc.tuple(...Array.from({ length: 4 }, () => fc.jsonValue()))), (rows) => {
      const lines = rows.map(([a, b, c, d]) => {
        const row = { 'a"$': a, b: JSON.stringify(b), 'c:Raw}': c, d: d === null ? null : JSON.stringify(d) }
        return `{"row":${JSON.stringify(row)}}\n`
      })
      const { bytes } = measuredRows(Buffer.from(`${meta}${lines.join('')}${progress(7)}`), form)
      const texts = rows.map(([a, b, c, d]) => JSON.stringify({ 'a"$': a, b, 'c:Raw}': c, d }))
      expect(bytes.toString()).toBe(`[\n${texts.join(',\n')}\n]\n`)
    }),
  )
  for (const row of ['{"a":@{`a`:CSV}}', '{"a":@{`a`:Raw}', '@{`a`:Raw}', '{"a":@{`a`:Raw}}x']) {
    const other = new Map([...settings, ['format_template_row_format', row.replace('@', '$')]])
    expect(rowFormOf('SELECT 1\nFORMAT Template', other)).toBeUndefined()
  }
})

test('returns rows with any content', () => {
  fc.assert(
    fc.property(fc.array(fc.dictionary(fc.string(), fc.jsonValue())), fc.boolean(), (rows, asArray) => {
      const lines = rows.map((row) => `{"row":${JSON.stringify(row)}}\n`)
      const { text } = convert(`${meta}${lines.join(asArray ? ',\n' : '')}${progress(7)}`, asArray)
      const array = asArray ? text : `[${text.trimEnd().replaceAll('\n', ',')}]`
      expect(JSON.parse(array)).toEqual(rows.map((row) => JSON.parse(JSON.stringify(row))))
    }),
  )
})

test.each([
  ['rows of JSON', '{"row":{"a":"secret"}}\n'],
  ['a whole result', `${meta}{"row":{"a":"secret"}}\n${progress(1)}`],
  ['a result that was cut short', `${meta}{"row":{"a":"secr`],
  ['text', 'secret\t1\nsecret\t2\n'],
  ['text without an end', 'secret'],
  ['text that looks like the beginning of a result', '{"meta":secret\n'],
])('finds output of another query before a result: %s', (_, left) => {
  for (const result of [meta, `${meta}{"row":{"a":"own"}}\n${progress(1)}`]) {
    expect(() => convert(left + result)).toThrow('The session has output of another query.')
  }
})
