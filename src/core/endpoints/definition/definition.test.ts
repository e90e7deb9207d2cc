import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fieldProblems } from '../../base/validation.ts'
import { definitionShape } from './definition.ts'

const id = '5f0b7a11-4f0e-4c39-9d0e-6f1c3f0b7a11'
const least = { id, name: 'usage', query: 'SELECT 1' }

function problems(fields: Record<string, unknown>): string[] {
  const parsed = definitionShape.safeParse({ ...least, ...fields })
  return parsed.success
    ? []
    : fieldProblems(parsed.error).map(({ path, message }) => `${path.join('.')} ${message}`)
}

test('requires only id, name and query', () => {
  expect(definitionShape.parse(least)).toEqual({
    ...least,
    description: '',
    parameters: {},
    max_rows: 1000,
    cache_seconds: null,
    warm_seconds: null,
    timeout_seconds: 30,
    json: [],
    sandbox: false,
    strict: false,
    chart: null,
    timestamps: 'iso',
    published: false,
  })
  expect(definitionShape.parse({ ...least, parameters: { a: {} } }).parameters).toEqual({
    a: { type: 'string', required: false, empty_is_omitted: false, description: '' },
  })
})

test('has a chart whose columns are optional', () => {
  const chart = { type: 'bars', x: null, y: [], series: null }
  expect(definitionShape.parse({ ...least, chart: { type: 'bars' } }).chart).toEqual(chart)
  const whole = { type: 'stacked', x: 'timestamp', y: ['n', 'm'], series: 'status' }
  expect(definitionShape.parse({ ...least, chart: whole }).chart).toEqual(whole)
  const chartProblems = (fields: unknown) => problems({ chart: fields })
  expect(chartProblems({ type: 'pie', color: 'red' })).toEqual([
    'chart.type must be one of lines, bars, stacked, number, table',
    'chart.color is unknown',
  ])
  expect(chartProblems({ type: 'lines', x: 1, y: new Array(21).fill('n') })).toEqual([
    'chart.x must be text',
    'chart.y must be a list of at most 20 columns',
  ])
  expect(chartProblems('lines')).toEqual(['chart must be a list of fields, such as { type: lines }'])
})

test('is published only if it says so, and has ISO timestamps by default', () => {
  expect(problems({ published: 'no' })).toEqual(['published must be true or false'])
  expect(problems({ published: null })).toEqual(['published must be true or false'])
  expect(problems({ timestamps: 'unix' })).toEqual(['timestamps must be iso or logflare'])
  // Definitions are compared by their JSON, so the order of the fields must not depend on what was sent.
  const [bare, full] = [definitionShape.parse(least), definitionShape.parse({ published: false, ...least })]
  expect(JSON.stringify(bare)).toBe(JSON.stringify(full))
})

test('reports all problems together, each with its field', () => {
  expect(
    problems({
      id: '1',
      name: '1st',
      query: ' ',
      max_rows: 0,
      cache_seconds: 300,
      warm_seconds: 900,
      sandbox: 'yes',
      extra: 1,
      parameters: { now: {}, _format: {}, a: { kind: 'text', type: 'day' }, b: 'x' },
    }),
  ).toEqual([
    'id must be a UUID',
    'name must start with a letter and have at most 128 letters, digits, dots, underscores and dashes',
    'query is missing',
    'parameters.now is set by the service and cannot be declared',
    'parameters._format must start with a letter and have at most 64 letters, digits and underscores',
    'parameters.a.type must be one of string, integer, number, boolean, timestamp, date, regex, list',
    'parameters.a.kind is unknown',
    'parameters.b must be a list of fields, such as { required: true }',
    'max_rows must be a whole number from 1 to 10000',
    'sandbox must be true or false',
    'extra is unknown',
    'warm_seconds must not be longer than the cache',
  ])
})

test('ignores the case of an id', () => {
  expect(definitionShape.parse({ ...least, id: id.toUpperCase() }).id).toBe(id)
})

test.each(['a', 'Z9', 'logs.all', 'usage.api-counts', 'a_b', 'a'.repeat(128)])('%s is a name', (name) => {
  expect(problems({ name })).toEqual([])
})

test.each(['', '1a', '.a', '-a', '_a', 'a b', 'a/b', 'ä', 'a'.repeat(129), 'a\n'])(
  '%j is not a name',
  (name) => expect(problems({ name })).toHaveLength(1),
)

const rowRange = 'max_rows must be a whole number from 1 to 10000'
const cacheRange = 'cache_seconds must be a whole number of seconds from 1 to 2592000'
const timeRange = 'timeout_seconds must be a whole number of seconds from 1 to 3600'

test.each([
  [{ max_rows: 1 }, []],
  [{ max_rows: 10_000 }, []],
  [{ max_rows: 10_001 }, [rowRange]],
  [{ max_rows: 1.5 }, [rowRange]],
  [{ max_rows: '10' }, [rowRange]],
  [{ cache_seconds: 0 }, [cacheRange]],
  [{ timeout_seconds: 3601 }, [timeRange]],
  [{ timeout_seconds: null }, [timeRange]],
  [{ incremental: null }, ['incremental is unknown']],
  [{ warm_seconds: 300 }, ['warm_seconds requires caching']],
  [{ cache_seconds: 900, warm_seconds: 900 }, []],
  [{ cache_seconds: 900, warm_seconds: 901 }, ['warm_seconds must not be longer than the cache']],
  // An invalid cache does not make the warming invalid.
  [{ cache_seconds: -1, warm_seconds: 900 }, [cacheRange]],
  [{ parameters: { sql: {} } }, []],
  [
    { parameters: { sql: {} }, sandbox: true },
    ['parameters.sql is reserved in a sandbox for the SQL of the caller'],
  ],
])('%o', (fields, expected) => expect(problems(fields)).toEqual(expected))

describe('parameters', () => {
  test('defaults, allowed values and examples are text, however they are written', () => {
    const { parameters } = definitionShape.parse({
      ...least,
      parameters: {
        n: { type: 'integer', default: 10, enum: [10, '20'], example: 20 },
        b: { default: true },
      },
    })
    expect(parameters.n).toMatchObject({ default: '10', enum: ['10', '20'], example: '20' })
    expect(parameters.b).toMatchObject({ default: 'true' })
  })

  test.each([
    [{ required: true, default: 'a' }, 'default is not allowed for a required parameter'],
    [{ type: 'integer', default: 'a' }, 'default must be a whole number of at most 64 bits'],
    [{ type: 'integer', enum: ['1', 'a'] }, 'enum.1 must be a whole number of at most 64 bits'],
    [{ enum: ['a', 'b', 'a'] }, 'enum.2 is a duplicate'],
    [{ enum: [] }, 'enum must be a list of values'],
    [{ enum: 'a' }, 'enum must be a list of values'],
    [{ enum: ['a', 'b'], default: 'c' }, 'default must be one of a, b'],
    [{ enum: ['a', 'b'], example: 'c' }, 'example must be one of a, b'],
    [
      { type: 'timestamp', example: 'now' },
      'example must be an ISO 8601 date, or date and time, such as 2026-01-31T12:00:00Z',
    ],
    [{ default: null }, 'default must be text, a number, or true or false'],
    [{ description: 1 }, 'description must be text'],
  ])('%o: %s', (declaration, problem) => {
    expect(problems({ parameters: { a: declaration } })).toEqual([`parameters.a.${problem}`])
  })

  test('a problem in one parameter does not hide a problem in another', () => {
    expect(problems({ parameters: { a: { enum: [] }, b: { required: true, default: '' } } })).toHaveLength(2)
  })

  test('can have the names of properties that every object has', () => {
    const { parameters } = definitionShape.parse({
      ...least,
      parameters: { constructor: { type: 'number' } },
    })
    expect(Object.keys(parameters)).toEqual(['constructor'])
    expect(definitionShape.parse({ ...least, sandbox: true }).parameters).toEqual({})
  })
})

describe('queries', () => {
  const queryOf = (query: string) => definitionShape.parse({ ...least, query }).query

  test.each([
    ['  SELECT 1\n', 'SELECT 1'],
    ['SELECT 1;', 'SELECT 1'],
    ['SELECT 1 ; ;\n', 'SELECT 1'],
    ['SELECT 1; -- the end', 'SELECT 1\n -- the end'],
    ['SELECT 1 -- the end;', 'SELECT 1 -- the end;'],
    ["SELECT ';'", "SELECT ';'"],
    ['SELECT 1; SELECT 2;', 'SELECT 1; SELECT 2'],
    ['SELECT 1, -- one\r\n  /* two\r\n */ 2\r\n', 'SELECT 1, -- one\n  /* two\n */ 2'],
    ["SELECT 'a\r\nb'", "SELECT 'a\r\nb'"],
  ])('%j is saved as %j', (query, kept) => {
    expect(queryOf(query)).toBe(kept)
  })

  test('docs/guides/endpoints.md shows what is saved', () => {
    const page = readFileSync(new URL('../../../../docs/guides/endpoints.md', import.meta.url), 'utf8')
    const [, written, saved] = /`([^`]+)` is saved as `([^`]+)`/.exec(page) as unknown as string[]
    expect([written !== saved, queryOf(written as string)]).toEqual([true, saved])
  })

  test('saving a saved query changes nothing', () => {
    const piece = fc.constantFrom(';', ' ', '\n', '\r', '-- c', '/* c */', 'a', '#', '-', '/', '*', "'", '$$')
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1 }), (pieces) => {
        const kept = definitionShape.safeParse({ ...least, query: pieces.join('') })
        fc.pre(kept.success)
        expect(queryOf(kept.data?.query ?? '')).toBe(kept.data?.query)
      }),
      { numRuns: 500 },
    )
  })
})
