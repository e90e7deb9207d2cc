import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { definitionShape, fieldProblems } from './definition.ts'

const id = '5f0b7a11-4f0e-4c39-9d0e-6f1c3f0b7a11'
const least = { id, name: 'usage', query: 'SELECT 1' }

function problems(fields: Record<string, unknown>): string[] {
  const parsed = definitionShape.safeParse({ ...least, ...fields })
  return parsed.success
    ? []
    : fieldProblems(parsed.error).map(({ path, message }) => `${path.join('.')} ${message}`)
}

test('only id, name and query are needed; the rest has defaults', () => {
  expect(definitionShape.parse(least)).toEqual({
    ...least,
    description: '',
    parameters: {},
    max_rows: 1000,
    cache_seconds: null,
    warm_seconds: null,
    incremental: null,
    timeout_seconds: 30,
    json: [],
    sandbox: false,
  })
  expect(definitionShape.parse({ ...least, parameters: { a: {} } }).parameters).toEqual({
    a: { type: 'string', required: false, empty_is_omitted: false, description: '' },
  })
})

test('every problem is told at once, each with its field', () => {
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
      parameters: { now: {}, _format: {}, a: { kind: 'text', type: 'date' }, b: 'x' },
    }),
  ).toEqual([
    'id must be a UUID',
    'name must begin with a letter and have up to 128 letters, digits, dots, underscores and dashes',
    'query is missing',
    'parameters.now is given by the service and cannot be declared',
    'parameters._format must begin with a letter and have up to 64 letters, digits and underscores',
    'parameters.a.type must be one of string, integer, number, boolean, timestamp, regex',
    'parameters.a.kind is no field that is known here',
    'parameters.b must be a list of fields, such as { required: true }',
    'max_rows must be a whole number from 1 to 10000',
    'sandbox must be true or false',
    'extra is no field that is known here',
    'warm_seconds must not be longer than the cache',
  ])
})

test('an id is one id in capital and in small letters', () => {
  expect(definitionShape.parse({ ...least, id: id.toUpperCase() }).id).toBe(id)
})

describe('names', () => {
  test.each(['a', 'Z9', 'logs.all', 'usage.api-counts', 'a_b', 'a'.repeat(128)])('%s is one', (name) => {
    expect(problems({ name })).toEqual([])
  })

  test.each(['', '1a', '.a', '-a', '_a', 'a b', 'a/b', 'ä', 'a'.repeat(129), 'a\n'])('%j is none', (name) => {
    expect(problems({ name })).toHaveLength(1)
  })
})

describe('numbers', () => {
  test.each([
    [{ max_rows: 1 }, []],
    [{ max_rows: 10_000 }, []],
    [{ max_rows: 10_001 }, ['max_rows must be a whole number from 1 to 10000']],
    [{ max_rows: 1.5 }, ['max_rows must be a whole number from 1 to 10000']],
    [{ max_rows: '10' }, ['max_rows must be a whole number from 1 to 10000']],
    [{ cache_seconds: 0 }, ['cache_seconds must be a whole number of seconds from 1 to 2592000']],
    [{ incremental: { column: 't' } }, ['incremental needs a cache that it renews']],
    [
      { cache_seconds: 9, incremental: { column: 't', by: 'x' } },
      ['incremental.by must be a declared parameter'],
    ],
    [
      {
        cache_seconds: 9,
        incremental: { column: 't', otherwise: { window_seconds: 9, bucket_seconds: 7 } },
      },
      ['incremental.otherwise.bucket_seconds must divide a day'],
    ],
    [{ timeout_seconds: 3601 }, ['timeout_seconds must be a whole number of seconds from 1 to 3600']],
    [{ timeout_seconds: null }, ['timeout_seconds must be a whole number of seconds from 1 to 3600']],
  ])('%o', (fields, expected) => {
    expect(problems(fields)).toEqual(expected)
  })
})

describe('warming', () => {
  test('needs a cache', () => {
    expect(problems({ warm_seconds: 300 })).toEqual(['warm_seconds needs a cache that it keeps warm'])
  })

  test('may be as long as the cache and no longer', () => {
    expect(problems({ cache_seconds: 900, warm_seconds: 900 })).toEqual([])
    expect(problems({ cache_seconds: 900, warm_seconds: 901 })).toEqual([
      'warm_seconds must not be longer than the cache',
    ])
  })

  test('is not judged by a cache that cannot be read', () => {
    expect(problems({ cache_seconds: -1, warm_seconds: 900 })).toEqual([
      'cache_seconds must be a whole number of seconds from 1 to 2592000',
    ])
  })
})

describe('parameters', () => {
  test('defaults, allowed values and examples are text, whatever they are written as', () => {
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
    [{ required: true, default: 'a' }, 'default cannot be given for a parameter that is required'],
    [{ type: 'integer', default: 'a' }, 'default must be a whole number of at most 64 bits'],
    [{ type: 'integer', enum: ['1', 'a'] }, 'enum.1 must be a whole number of at most 64 bits'],
    [{ enum: ['a', 'b', 'a'] }, 'enum.2 is there twice'],
    [{ enum: [] }, 'enum must be a list of values'],
    [{ enum: 'a' }, 'enum must be a list of values'],
    [{ enum: ['a', 'b'], default: 'c' }, 'default must be one of a, b'],
    [{ enum: ['a', 'b'], example: 'c' }, 'example must be one of a, b'],
    [
      { type: 'timestamp', example: 'now' },
      'example must be an ISO 8601 date and time, such as 2026-01-31T12:00:00Z',
    ],
    [{ default: null }, 'default must be text, a number, or true or false'],
    [{ description: 1 }, 'description must be text'],
  ])('%o: %s', (declaration, problem) => {
    expect(problems({ parameters: { a: declaration } })).toEqual([`parameters.a.${problem}`])
  })

  test('a problem in one parameter does not hide one in another', () => {
    expect(problems({ parameters: { a: { enum: [] }, b: { required: true, default: '' } } })).toHaveLength(2)
  })

  test('the name sql is taken where callers send SQL of their own', () => {
    expect(problems({ parameters: { sql: {} } })).toEqual([])
    expect(problems({ parameters: { sql: {} }, sandbox: true })).toEqual([
      'parameters.sql cannot be declared in a sandbox, where it is the SQL of the caller',
    ])
  })

  test('names of what every object has are names like others', () => {
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
  ])('%j is kept as %j', (query, kept) => {
    expect(queryOf(query)).toBe(kept)
  })

  test('a query that is kept once is kept as it is', () => {
    const piece = fc.constantFrom(';', ' ', '\n', '-- c', '/* c */', 'a', '#', '-', '/', '*', "'", '$$')
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1 }), (pieces) => {
        const kept = definitionShape.safeParse({ ...least, query: pieces.join('') })
        fc.pre(kept.success)
        expect(queryOf(kept.data?.query ?? '')).toBe(kept.data?.query)
      }),
      { numRuns: 2000 },
    )
  })
})
