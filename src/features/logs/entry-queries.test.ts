import { describe, expect, test } from 'vitest'
import { readQuery } from '../../core/search/parse-query.ts'
import { conditionsOf, rangeOf } from './entry-queries.ts'
import { entryFilterShape } from './search-shape.ts'

const now = 1_800_000_000_000_000n
const hour = 3_600_000_000n
const filterOf = (fields: object) => entryFilterShape.parse(fields)

describe('rangeOf', () => {
  test('covers the last hour and has no end if there are no bounds', () => {
    expect(rangeOf({}, now)).toEqual({ from: now - hour, to: undefined })
  })

  test('covers the hour before the end if there is no start', () => {
    const to = '2026-01-01T00:00:00Z'
    const micros = BigInt(Date.parse(to)) * 1000n
    expect(rangeOf({ to }, now)).toEqual({ from: micros - hour, to: micros })
  })

  test('rejects an end before the start', () => {
    const day = { from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' }
    expect(() => rangeOf(day, now)).toThrow('to must be later than from.')
  })
})

describe('conditionsOf', () => {
  const conditions = (query: string, project?: string) =>
    conditionsOf(filterOf({ query, project }), now, readQuery(query, []))
  const term = (query: string) => conditions(query).sql.replace(/^[^(]* AND \((.*)\)$/, '$1')

  test('never puts a value into the SQL', () => {
    const secret = "x' OR 1=1"
    const query = `"${secret}" a:"${secret}" NOT b:"${secret}" c:"${secret}"`
    const { sql, parameters } = conditions(query, secret)
    expect(sql).not.toContain(secret)
    const bound = Object.values(parameters).map((value) => String(value).toLowerCase())
    expect(bound.filter((value) => value === secret.toLowerCase())).toHaveLength(5)
  })

  test('counts absent values as not matching', () => {
    const a = "JSONExtract(metadata, 'a', 'Nullable(String)')"
    expect(term('NOT a:*')).toContain(`NOT (ifNull(${a}, '') != '')`)
    expect(term('NOT a:*x*')).toContain('NOT (position(lowerUTF8(ifNull(')
    expect(term('NOT a:>=400')).toMatch(/NOT \(ifNull\(.* >= \{.*:Float64\}, 0\)\)/)
  })

  test('quotes everything that is not a column as a path of metadata', () => {
    expect(term('project:x')).toMatch(/project = /)
    expect(term('metadata.message:x')).toContain("JSONExtract(metadata, 'message', 'Nullable(String)')")
    expect(term('a.b:x')).toContain("JSONExtract(metadata, 'a', 'b', 'Nullable(String)')")
    expect(term('metadata.a%2Eb:x')).toContain("JSONExtract(metadata, 'a.b', 'Nullable(String)')")
    expect(term('"a\'b\\\\":x')).toContain("JSONExtract(metadata, 'a\\'b\\\\', 'Nullable(String)')")
  })
})
