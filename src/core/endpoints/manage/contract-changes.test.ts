import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { allKinds, loadKinds } from '../../../kinds.ts'
import { definitionShape } from '../definition/definition.ts'
import type { ResultColumn } from '../definition/result-columns.ts'
import { changeKinds, contractChanges } from './contract-changes.ts'

await loadKinds()

const id = '11111111-2222-4333-8444-555555555555'

type Fields = Record<string, unknown>
type Columns = readonly ResultColumn[]

/** The changes as texts: their kind, effect and column. */
function changes(was: Fields, is: Fields, before: Columns = [], after: Columns = []): string[] {
  const contract = (fields: Fields, columns: Columns) => ({
    definition: definitionShape.parse({ id, name: 'sample', query: 'SELECT 1', ...fields }),
    columns,
  })
  return contractChanges(contract(was, before), contract(is, after)).map(({ kind, breaking, column }) =>
    [kind, breaking ? 'breaking' : 'compatible', ...(column ? [column] : [])].join(' '),
  )
}

const parameter = (was: object | undefined, is: object | undefined) =>
  changes({ parameters: was ? { p: was } : {} }, { parameters: is ? { p: is } : {} })
const columns = (names: string) => names.split(' ').map((name) => ({ name, type: 'String' }))

describe('contractChanges', () => {
  test('ignores the order of allowed values', () => {
    const fields = { parameters: { p: { enum: ['a', 'b'] } }, cache_seconds: 10 }
    expect(changes(fields, fields)).toEqual([])
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
    ['a time from a date', { type: 'date' }, { type: 'timestamp' }, 'parameter_type_changed', 'compatible'],
    [
      'a list of texts',
      { type: 'list', of: 'number' },
      { type: 'list' },
      'parameter_type_changed',
      'compatible',
    ],
    [
      'a list of numbers',
      { type: 'list' },
      { type: 'list', of: 'number' },
      'parameter_type_changed',
      'breaking',
    ],
    ['one value', { type: 'list' }, { type: 'string' }, 'parameter_type_changed', 'breaking'],
    ['an expression', { type: 'string' }, { type: 'regex' }, 'parameter_type_changed', 'breaking'],
    ['of fewer values', { enum: ['a', 'b'] }, { enum: ['a'] }, 'parameter_values_removed', 'breaking'],
    ['of some values', {}, { enum: ['a'] }, 'parameter_values_removed', 'breaking'],
    ['of more values', { enum: ['a'] }, { enum: ['a', 'b'] }, 'parameter_values_added', 'compatible'],
    ['of any value', { enum: ['a'] }, {}, 'parameter_values_added', 'compatible'],
    ['omitted if empty', {}, { empty_is_omitted: true }, 'parameter_empty_changed', 'breaking'],
    ['described', {}, { description: 'x' }, 'parameter_description_changed', 'compatible'],
  ])('a parameter that is now %s', (_what, was, is, kind, effect) => {
    expect(parameter(was, is)).toEqual([`${kind} ${effect}`])
  })

  test('a chart breaks nobody', () => {
    const lines = { chart: { type: 'lines' } }
    expect(changes({}, lines)).toEqual(['chart_changed compatible'])
    expect(changes(lines, { chart: { type: 'lines', y: [] } })).toEqual([])
  })

  test('unpublishing breaks tokens with a project', () => {
    expect(changes({ published: true }, {})).toEqual(['unpublished breaking'])
    expect(changes({}, { published: true })).toEqual(['published compatible'])
  })

  test('reports removed and added values of a list', () => {
    expect(parameter({ enum: ['a', 'b'] }, { enum: ['b', 'c'] })).toEqual([
      'parameter_values_removed breaking',
      'parameter_values_added compatible',
    ])
  })

  test('includes parameters that only the SQL names', () => {
    expect(changes({ query: 'SELECT @a' }, { query: 'SELECT @b' })).toEqual([
      'parameter_removed breaking',
      'parameter_added compatible',
      'query_changed compatible',
    ])
    expect(changes({ query: 'SELECT @a' }, { query: 'SELECT @a', parameters: { a: {} } })).toEqual([])
  })

  test.each([
    ['a b', 'a', ['column_removed breaking b']],
    ['a b', 'a b c', ['column_added compatible c']],
    ['a b', 'a x', ['column_renamed breaking b']],
    ['a b', 'b a', ['columns_reordered compatible']],
    ['a b', 'c a b', ['column_added compatible c']],
    ['a b', 'x y z', ['column_renamed breaking a', 'column_renamed breaking b', 'column_added compatible z']],
  ])('columns that change from %s to %s', (was, is, expected) => {
    expect(changes({}, {}, columns(was), columns(is))).toEqual(expected)
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
  ])('a column type that changes from %s to %s is %s', (was, is, effect) => {
    const [before, after] = [[{ name: 'c', type: was }], [{ name: 'c', type: is }]]
    expect(changes({}, {}, before, after)).toEqual([`column_type_changed ${effect} c`])
  })

  const sandbox = (view: string) => ({ sandbox: true, query: `WITH ${view} AS (SELECT 1) SELECT 2` })

  test.each([
    [{}, { name: 'other' }, ['endpoint_renamed breaking']],
    [{}, { max_rows: 10 }, ['max_rows_lowered breaking']],
    [{}, { max_rows: 2000 }, ['max_rows_raised compatible']],
    [{ sandbox: true }, {}, ['sandbox_off breaking']],
    [{}, { sandbox: true }, ['sandbox_on compatible']],
    [{}, { strict: true }, ['strict_on breaking']],
    [{ strict: true }, {}, ['strict_off compatible']],
    [
      sandbox('a'),
      sandbox('b'),
      ['sandbox_view_removed breaking', 'sandbox_view_added compatible', 'query_changed compatible'],
    ],
    [
      // No caller can name the helper.
      { sandbox: true, query: 'WITH _raw AS (SELECT 1), a AS (SELECT 1 FROM _raw) SELECT 2' },
      sandbox('a'),
      ['query_changed compatible'],
    ],
    [{}, { cache_seconds: 10 }, ['cache_changed compatible']],
    [{ cache_seconds: 10 }, { cache_seconds: 10, warm_seconds: 5 }, ['cache_changed compatible']],
    [
      {},
      { timeout_seconds: 5, description: 'x' },
      ['timeout_changed compatible', 'description_changed compatible'],
    ],
  ])('%o and then %o', (was, is, expected) => {
    expect(changes(was, is)).toEqual(expected)
  })

  test('docs/guides/endpoints.md lists all kinds of changes', () => {
    const page = readFileSync(new URL('../../../../docs/guides/endpoints.md', import.meta.url), 'utf8')
    const listed = [...page.matchAll(/^- `([a-z_]+)`: (?:breaking|compatible|either)/gm)].map(
      ([, kind]) => kind,
    )
    const users = allKinds().filter(({ folder, refersTo }) => folder !== 'endpoints' && refersTo.endpoints)
    const affected = users.map(({ folder }) => `${folder}_affected`)
    expect(listed.toSorted()).toEqual([...changeKinds, ...affected].toSorted())
  })
})
