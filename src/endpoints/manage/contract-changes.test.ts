import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { definitionShape } from '../definition/definition.ts'
import type { ResultColumn } from '../definition/result-columns.ts'
import { changeKinds } from './contract-change.ts'
import { contractChanges } from './contract-changes.ts'

const id = '11111111-2222-4333-8444-555555555555'

function contract(fields: Record<string, unknown> = {}, columns: ResultColumn[] = []) {
  return {
    definition: definitionShape.parse({ id, name: 'sample', query: 'SELECT 1', ...fields }),
    columns,
  }
}

function between(
  before: Parameters<typeof contract>,
  after: Parameters<typeof contract>,
): [string, 'breaking' | 'compatible'][] {
  return contractChanges(contract(...before), contract(...after)).map(({ kind, breaking }) => [
    kind,
    breaking ? 'breaking' : 'compatible',
  ])
}

const parameter = (was: object | undefined, is: object | undefined) =>
  between([{ parameters: was ? { p: was } : {} }], [{ parameters: is ? { p: is } : {} }])

const types = (was: string, is: string) =>
  between([{}, [{ name: 'c', type: was }]], [{}, [{ name: 'c', type: is }]])

const columns = (was: string, is: string) => {
  const of = (names: string) => names.split(' ').map((name) => ({ name, type: 'String' }))
  return contractChanges(contract({}, of(was)), contract({}, of(is))).map(({ kind, breaking, column }) =>
    [kind, breaking ? 'breaking' : 'compatible', column].filter(Boolean).join(' '),
  )
}

describe('contractChanges', () => {
  test('finds nothing where nothing changed, also where values are listed in another order', () => {
    const fields = { parameters: { p: { enum: ['a', 'b'] } }, cache_seconds: 10 }
    expect(between([fields], [fields])).toEqual([])
    expect(parameter({ enum: ['a', 'b'] }, { enum: ['b', 'a'] })).toEqual([])
  })

  test.each([
    ['removed', { default: 'x' }, undefined, 'parameter_removed', 'breaking'],
    ['added', undefined, { default: 'x' }, 'parameter_added', 'compatible'],
    ['added and required', undefined, { required: true }, 'parameter_required', 'breaking'],
    ['required', {}, { required: true }, 'parameter_required', 'breaking'],
    ['optional', { required: true }, { default: 'x' }, 'parameter_optional', 'compatible'],
    ['with another default', { default: 'x' }, { default: 'y' }, 'parameter_default_changed', 'breaking'],
    ['with a default', {}, { default: 'y' }, 'parameter_default_changed', 'breaking'],
    ['a wider number', { type: 'integer' }, { type: 'number' }, 'parameter_type_changed', 'compatible'],
    ['a text', { type: 'timestamp' }, { type: 'string' }, 'parameter_type_changed', 'compatible'],
    ['a narrower number', { type: 'number' }, { type: 'integer' }, 'parameter_type_changed', 'breaking'],
    ['an expression', { type: 'string' }, { type: 'regex' }, 'parameter_type_changed', 'breaking'],
    ['of fewer values', { enum: ['a', 'b'] }, { enum: ['a'] }, 'parameter_values_removed', 'breaking'],
    ['of some values', {}, { enum: ['a'] }, 'parameter_values_removed', 'breaking'],
    ['of more values', { enum: ['a'] }, { enum: ['a', 'b'] }, 'parameter_values_added', 'compatible'],
    ['of any value', { enum: ['a'] }, {}, 'parameter_values_added', 'compatible'],
    ['omitted if empty', {}, { empty_is_omitted: true }, 'parameter_empty_changed', 'breaking'],
    ['described', {}, { description: 'x' }, 'parameter_description_changed', 'compatible'],
  ])('a parameter that is now %s', (_what, was, is, kind, verdict) => {
    expect(parameter(was, is)).toEqual([[kind, verdict]])
  })

  test('a list of values that loses some and gains some is both', () => {
    expect(parameter({ enum: ['a', 'b'] }, { enum: ['b', 'c'] })).toEqual([
      ['parameter_values_removed', 'breaking'],
      ['parameter_values_added', 'compatible'],
    ])
  })

  test('a parameter that only the SQL names is one, too', () => {
    expect(between([{ query: 'SELECT @a' }], [{ query: 'SELECT @b' }])).toEqual([
      ['parameter_removed', 'breaking'],
      ['parameter_added', 'compatible'],
      ['query_changed', 'compatible'],
    ])
    const declared = { query: 'SELECT @a', parameters: { a: {} } }
    expect(between([{ query: 'SELECT @a' }], [declared])).toEqual([])
  })

  test('columns that are gone, new, renamed or in another order', () => {
    expect(columns('a b', 'a')).toEqual(['column_removed breaking b'])
    expect(columns('a b', 'a b c')).toEqual(['column_added compatible c'])
    expect(columns('a b', 'a x')).toEqual(['column_renamed breaking b'])
    expect(columns('a b', 'b a')).toEqual(['columns_reordered compatible'])
    expect(columns('a b', 'c a b')).toEqual(['column_added compatible c'])
    expect(columns('a b', 'x y z')).toEqual([
      'column_renamed breaking a',
      'column_renamed breaking b',
      'column_added compatible z',
    ])
  })

  test.each([
    ['UInt8', 'UInt64', 'compatible'],
    ['UInt64', 'Int32', 'compatible'],
    ['Float64', 'UInt8', 'compatible'],
    ['UInt8', 'Float64', 'breaking'],
    ['Nullable(String)', 'String', 'compatible'],
    ['String', 'Nullable(String)', 'breaking'],
    ['String', 'LowCardinality(String)', 'compatible'],
    ['String', 'LowCardinality(Nullable(String))', 'breaking'],
    ['String', "Enum8('a' = 1)", 'compatible'],
    ['String', 'UInt8', 'breaking'],
    ["DateTime64(3, 'UTC')", "DateTime64(6, 'UTC')", 'compatible'],
    ["DateTime('UTC')", "DateTime64(6, 'UTC')", 'breaking'],
    ["DateTime('UTC')", 'String', 'breaking'],
    ['Date', "DateTime('UTC')", 'breaking'],
    ['Array(UInt8)', 'Array(UInt16)', 'breaking'],
    ['String', 'Dynamic', 'breaking'],
  ])('a column that was %s and is %s is %s', (was, is, verdict) => {
    expect(types(was, is)).toEqual([['column_type_changed', verdict]])
  })

  test('names, rows, sandboxes and what is quiet', () => {
    expect(between([{}], [{ name: 'other' }])).toEqual([['endpoint_renamed', 'breaking']])
    expect(between([{}], [{ max_rows: 10 }])).toEqual([['max_rows_lowered', 'breaking']])
    expect(between([{}], [{ max_rows: 2000 }])).toEqual([['max_rows_raised', 'compatible']])
    expect(between([{ sandbox: true }], [{}])).toEqual([['sandbox_off', 'breaking']])
    expect(between([{}], [{ sandbox: true }])).toEqual([['sandbox_on', 'compatible']])
    const views = (name: string) => ({ sandbox: true, query: `WITH ${name} AS (SELECT 1) SELECT 2` })
    expect(between([views('a')], [views('b')])).toEqual([
      ['sandbox_view_removed', 'breaking'],
      ['sandbox_view_added', 'compatible'],
      ['query_changed', 'compatible'],
    ])
    const fields = { cache_seconds: 10, warm_seconds: 5, timeout_seconds: 5, description: 'x' }
    expect(between([{}], [fields])).toEqual([
      ['cache_changed', 'compatible'],
      ['cache_changed', 'compatible'],
      ['timeout_changed', 'compatible'],
      ['description_changed', 'compatible'],
    ])
  })

  test('docs/managing-endpoints.md lists every kind of change', () => {
    const page = readFileSync(new URL('../../../docs/managing-endpoints.md', import.meta.url), 'utf8')
    const listed = [...page.matchAll(/^\| `([a-z_]+)`.*\| (?:breaking|compatible|either)/gm)].map(
      ([, kind]) => kind,
    )
    expect(listed.toSorted()).toEqual([...changeKinds].toSorted())
  })
})
