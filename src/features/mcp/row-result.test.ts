import { describe, expect, test } from 'vitest'
import { dataNote, maxResultCharacters, rowResult, rowsIn, rowsSchema } from './row-result.ts'

const narrow = 'Ask for less.'

interface Shown {
  note: string
  rows: Record<string, unknown>[]
  total_rows: number
  complete: boolean
}

/** Rows in the form that the engine writes. */
function jsonLines(rows: readonly object[]): Buffer {
  return Buffer.from(`[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]`)
}

function shown(body: Buffer, options: Partial<Parameters<typeof rowResult>[1]> = {}) {
  const total = [...rowsIn(body)].length
  const { structuredContent, content } = rowResult(rowsIn(body), { narrow, total, ...options })
  const [first] = content
  const [note, ...lines] = first?.type === 'text' ? first.text.split('\n') : []
  const result = structuredContent as unknown as Shown
  expect(note).toBe(result.note)
  expect(lines.map((line) => JSON.parse(line))).toEqual(result.rows)
  return { ...result, lines }
}

describe('a result for a model', () => {
  test('has all rows if they fit', () => {
    const rows = [
      { n: 1, text: 'line\nbreak\u2028' },
      { n: 2, text: '{"note":"x"}' },
    ]
    expect(shown(jsonLines(rows))).toMatchObject({ note: dataNote, rows, total_rows: 2, complete: true })
    const framed = Buffer.from(`{"result":${jsonLines(rows)}}`)
    expect(shown(framed)).toMatchObject({ rows, complete: true })
  })

  test.each(['[]', '{"result":[]}', '[\n\n]\n', '', '[\n]'])('has no rows: %j', (body) => {
    expect(shown(Buffer.from(body))).toMatchObject({ rows: [], total_rows: 0, complete: true })
  })

  test('has the first rows if they do not fit', () => {
    const rows = Array.from({ length: 1000 }, (_, n) => ({ n, text: 'x'.repeat(90) }))
    const { rows: first, lines, note, total_rows, complete } = shown(jsonLines(rows))
    expect(first).toEqual(rows.slice(0, first.length))
    expect(lines.join('').length).toBeLessThanOrEqual(maxResultCharacters)
    expect(first.length).toBeGreaterThan(200)
    expect([total_rows, complete]).toEqual([1000, false])
    expect(note).toContain(`Only the first ${first.length} of 1000 rows`)
    expect(note).toContain(narrow)
  })

  test('keeps columns and types of a row that is too long', () => {
    const deep = 'deeply nested'
    const nested = `${'[{"a":'.repeat(20_000)}1${'}]'.repeat(20_000)}`
    const row = {
      text: '😀'.repeat(50_000),
      list: Array.from({ length: 9000 }, (_, n) => n),
      deep,
      keys: Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`key${n}`, 'value'])),
      none: null,
      n: 1,
    }
    const { rows, note, complete } = shown(
      Buffer.from(
        jsonLines([row, { n: 2 }])
          .toString()
          .replace(JSON.stringify(deep), nested),
      ),
    )
    expect([rows.length, complete]).toEqual([2, false])
    expect(Object.keys(rows[0] ?? {})).toEqual(Object.keys(row))
    expect(rows[0]).toMatchObject({ list: expect.any(Array), n: 1, none: null })
    expect(rows[0]?.text).toMatch(/^(?:😀)+…$/u)
    expect(note).toContain('Long values are shortened')
  })

  test('has the integers that the engine wrote, in its text', () => {
    const line = '{"ids":[18446744073709551615],"sum":12345678901234567890.123}'
    const { content } = rowResult([line], { narrow, total: 1 })
    expect(content).toEqual([{ type: 'text', text: `${dataNote}\n${line}` }])
  })

  test('has a schema that shortened values meet', () => {
    const pair = { type: 'array', prefixItems: [{}, {}], minItems: 2, maxItems: 2 }
    const properties = { pair, required: { type: 'object', properties: { a: {} }, required: ['a'] } }
    const row = { type: 'object', properties, required: ['pair', 'required'] }
    const { minItems: _, ...anyPair } = pair
    const kind = { type: 'string', enum: ['a', 'x'.repeat(51)] }
    expect(rowsSchema({ properties: { kind } }).properties?.rows).toMatchObject({
      items: { properties: { kind: { type: 'string' } } },
    })
    expect(JSON.stringify(rowsSchema({ properties: { kind } }))).not.toContain('enum')
    expect(JSON.stringify(rowsSchema({ properties: { kind: { enum: ['a', null] } } }))).toContain('enum')
    expect(rowsSchema(row).properties?.rows).toEqual({
      type: 'array',
      items: {
        ...row,
        properties: { pair: anyPair, required: { type: 'object', properties: { a: {} } } },
      },
    })
  })

  test('cannot be made to look like another type of object', () => {
    const { rows } = shown(Buffer.from('[\n{"__proto__":{"n":1},"n":2}\n]'))
    expect(Object.keys(rows[0] ?? {})).toEqual(['__proto__', 'n'])
    const long = shown(Buffer.from(`[\n{"__proto__":{"n":1},"text":"${'x'.repeat(9000)}"}\n]`))
    expect(Object.keys(long.rows[0] ?? {})).toEqual(['__proto__', 'text'])
  })

  test('says that there are more rows than it was given', () => {
    const { note, complete } = shown(jsonLines([{ n: 1 }]), { more: 'There are more.' })
    expect([note, complete]).toEqual([`${dataNote} There are more. ${narrow}`, false])
  })
})
