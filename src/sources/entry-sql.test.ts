import { describe, expect, test } from 'vitest'
import { conditionsOf, rangeOf } from './entry-sql.ts'
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
  test('never puts a value into the SQL', () => {
    const secret = "x' OR 1=1"
    const { sql, parameters } = conditionsOf(
      filterOf({
        project: secret,
        text: [secret],
        filters: [
          { path: 'a', value: secret },
          { path: 'b', is: 'ne', value: secret },
          { path: 'event_message', is: 'contains', not: true, value: secret },
        ],
      }),
      now,
    )
    expect(sql).not.toContain('OR')
    expect(Object.values(parameters).filter((value) => value === secret)).toHaveLength(5)
  })

  const term = (condition: object) =>
    conditionsOf(filterOf({ filters: [condition] }), now).sql.replace(/.* AND \((.*)\)$/, '$1')

  test('counts absent values as not matching', () => {
    const a = "JSONExtract(metadata, 'a', 'Nullable(String)')"
    expect(term({ path: 'a', is: 'exists', not: true })).toBe(`NOT (ifNull(${a}, '') != '')`)
    expect(term({ path: 'a', is: 'contains', not: true })).toContain(
      'NOT (positionCaseInsensitiveUTF8(ifNull(',
    )
    expect(term({ path: 'a', is: 'gte', not: true, value: 400 })).toMatch(
      /^NOT \(ifNull\(.* >= \{.*:Float64\}, 0\)\)$/,
    )
    expect(term({ path: 'a', is: 'ne' })).toBe(term({ path: 'a', not: true }))
    expect(term({ path: 'a', is: 'ne', not: true })).toBe(term({ path: 'a' }))
  })

  test('compares with the operator of the condition', () => {
    const sign = (is: string) => / ([<>]=?) \{/.exec(term({ path: 'a', is, value: 1 }))?.[1]
    expect(['gt', 'gte', 'lt', 'lte'].map(sign)).toEqual(['>', '>=', '<', '<='])
  })

  test('compares numbers with numbers only', () => {
    const compare = (value: unknown) =>
      Object.values(
        conditionsOf(filterOf({ filters: [{ path: 'n', is: 'gte', value }] }), now).parameters,
      ).at(-1)
    expect([compare(400), compare('4e2')]).toEqual([400, 400])
    for (const value of ['', ' ', 'many', 'NaN', 'Infinity'])
      expect(() => compare(value)).toThrow('Compare n with a number')
  })

  test('quotes everything that is not a column as a path of metadata', () => {
    expect(term({ path: 'project' })).toMatch(/^project = /)
    expect(term({ path: 'message' })).toContain("JSONExtract(metadata, 'message', 'Nullable(String)')")
    expect(term({ path: 'a.b' })).toContain("JSONExtract(metadata, 'a', 'b', 'Nullable(String)')")
    expect(term({ path: 'metadata.a%2Eb' })).toContain("JSONExtract(metadata, 'a.b', 'Nullable(String)')")
    expect(term({ path: "a'b\\" })).toContain("JSONExtract(metadata, 'a\\'b\\\\', 'Nullable(String)')")
  })

  test('rejects a path with an empty name', () => {
    for (const path of ['.', 'a.', '.a', 'a..b', 'a.\0'])
      expect(() => term({ path })).toThrow('is not a path')
  })
})
