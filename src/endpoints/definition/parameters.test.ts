import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { WellheadError } from '../../base/errors.ts'
import { parameterShape } from './definition.ts'
import { bindQuery, withNow } from './parameters.ts'

function compile(sql: string, declared: Record<string, unknown> = {}) {
  const declarations = Object.entries(declared).map(([name, value]) => [name, parameterShape.parse(value)])
  return bindQuery(sql, Object.fromEntries(declarations))
}

function refusal(run: () => unknown) {
  try {
    run()
  } catch (error) {
    if (!(error instanceof WellheadError)) throw error
    return { code: error.code, status: error.status, message: error.message, ...error.details }
  }
  throw new Error('Nothing was refused.')
}

/** What the parameter x becomes when this is sent for it. */
const bound = (declaration: unknown, sent?: string) =>
  compile('@x', { x: declaration }).check(sent === undefined ? {} : { x: sent }).x
const refused = (declaration: unknown, sent?: string) => refusal(() => bound(declaration, sent))

describe('the SQL', () => {
  test('has a placeholder of its type for each @name', () => {
    const { sql, names } = compile('SELECT @s, @i, @n, @b, @t, @r, @s WHERE @u', {
      s: {},
      i: { type: 'integer' },
      n: { type: 'number' },
      b: { type: 'boolean' },
      t: { type: 'timestamp' },
      r: { type: 'regex' },
    })
    expect(sql).toBe(
      'SELECT {s:Nullable(String)}, {i:Nullable(Int64)}, {n:Nullable(Float64)}, {b:Nullable(Bool)}, ' +
        "{t:Nullable(DateTime64(6, 'UTC'))}, {r:Nullable(String)}, {s:Nullable(String)} WHERE {u:Nullable(String)}",
    )
    expect(names).toEqual(['s', 'i', 'n', 'b', 't', 'r', 'u'])
  })

  test('has a type without null where there is always a value', () => {
    expect(compile('@a, @b', { a: { required: true }, b: { type: 'integer', default: 5 } }).sql).toBe(
      '{a:String}, {b:Int64}',
    )
  })

  test('has @now as a time that the service gives', () => {
    const query = compile('SELECT @now, @a')
    expect(query.sql).toBe("SELECT {now:DateTime64(6, 'UTC')}, {a:Nullable(String)}")
    expect(query.names).toEqual(['a'])
    const values = query.check({ a: 'x', now: '2020-01-01T00:00:00Z' })
    expect(values).toEqual({ a: 'x' })
    expect(withNow(values, 1_767_225_600_123_456n)).toEqual({ a: 'x', now: '1767225600.123456' })
  })

  test('keeps what only looks like a parameter', () => {
    const sql = `SELECT '@a', "@b", \`@c\`, $$@d$$, @@e -- @f\n/* @g /* @h */ @i */`
    expect(compile(sql)).toMatchObject({ sql, names: [] })
  })

  test('refuses names that begin with an underscore, and says where', () => {
    expect(refusal(() => compile('SELECT 1,\n  @_format'))).toEqual({
      code: 'invalid_query',
      status: 422,
      message: '@_format is no parameter: names that begin with _ are those of the service.',
      line: 2,
      column: 3,
    })
  })

  test('tells which parameters are regular expressions', () => {
    expect(compile('@a @b', { a: { type: 'regex' }, b: {}, c: { type: 'regex' } }).patterns).toEqual(['a'])
  })

  test('is all that it was, around the parameters', () => {
    const piece = fc.constantFrom(
      '@a',
      '@b1',
      '@now',
      "'",
      '"',
      '$$',
      '--',
      '/*',
      '*/',
      '\n',
      ' ',
      'x',
      '@',
      '{',
    )
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const sql = pieces.join('')
        const restored = compile(sql)
          .sql.replaceAll("{now:DateTime64(6, 'UTC')}", '@now')
          .replaceAll(/\{(\w+):Nullable\(String\)\}/g, '@$1')
        expect(restored).toBe(sql)
      }),
    )
  })
})

describe('a parameter that is not sent', () => {
  test('is null', () => {
    expect(compile('@x').check({})).toEqual({ x: null })
    for (const type of ['string', 'integer', 'number', 'boolean', 'timestamp', 'regex']) {
      expect(bound({ type })).toBeNull()
    }
  })

  test('is its default where it has one', () => {
    expect(bound({ default: '1day' })).toBe('1day')
    expect(bound({ type: 'integer', default: 5 })).toBe('5')
  })

  test('is an error where it is required, with the allowed values if there are any', () => {
    expect(refused({ required: true })).toEqual({
      code: 'missing_parameter',
      status: 400,
      message: 'Parameter "x" is required.',
      parameter: 'x',
    })
    expect(refused({ required: true, enum: ['a', 'b'] })).toEqual({
      code: 'missing_parameter',
      status: 400,
      message: 'Parameter "x" is required. Use one of a, b.',
      parameter: 'x',
      allowed: ['a', 'b'],
    })
  })

  test('is asked for even if the SQL does not use it', () => {
    expect(refusal(() => compile('SELECT 1', { x: { required: true } }).check({}))).toMatchObject({
      code: 'missing_parameter',
    })
  })
})

describe('a parameter that is sent empty', () => {
  test('is the empty text', () => {
    expect(bound({}, '')).toBe('')
    expect(bound({ required: true }, '')).toBe('')
    expect(bound({ type: 'regex', required: true }, '')).toBe('')
    expect(bound({ default: 'a' }, '')).toBe('')
    expect(compile('@x').check({ x: '' })).toEqual({ x: '' })
  })

  test('is as if it were omitted where the declaration says so', () => {
    expect(bound({ empty_is_omitted: true }, '')).toBeNull()
    expect(bound({ type: 'timestamp', empty_is_omitted: true }, '')).toBeNull()
    expect(bound({ default: 'a', empty_is_omitted: true }, '')).toBe('a')
    expect(refused({ required: true, empty_is_omitted: true }, '')).toMatchObject({
      code: 'missing_parameter',
    })
  })

  test('is invalid for a type that empty text is no value of', () => {
    for (const type of ['integer', 'number', 'boolean', 'timestamp']) {
      expect(refused({ type }, '')).toMatchObject({ code: 'invalid_parameter', parameter: 'x' })
    }
  })
})

describe('a value', () => {
  test('of a text is any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(bound({}, text)).toBe(text)
        expect(bound({ type: 'regex' }, text)).toBe(text)
      }),
    )
  })

  test.each([
    ['integer', '42', '42'],
    ['integer', '-007', '-7'],
    ['integer', '-0', '0'],
    ['integer', '9223372036854775807', '9223372036854775807'],
    ['integer', '-9223372036854775808', '-9223372036854775808'],
    ['number', '1.50', 1.5],
    ['number', '-2e3', -2000],
    ['number', '.5', 0.5],
    ['number', '5.', 5],
    ['boolean', 'true', true],
    ['boolean', '0', false],
    ['timestamp', '2026-01-01T00:00:00Z', '1767225600.000000'],
    ['timestamp', '2026-01-01T01:00:00 01:00', '1767225600.000000'],
    ['timestamp', '2026-01-01T00:00:00.123456789', '1767225600.123456'],
  ])('of %s is read from %s as %j', (type, sent, value) => {
    expect(bound({ type }, sent)).toBe(value)
  })

  test.each([
    ['integer', '1.0'],
    ['integer', '1e3'],
    ['integer', '+1'],
    ['integer', ' 1'],
    ['integer', '0x10'],
    ['integer', '9223372036854775808'],
    ['integer', '-9223372036854775809'],
    ['integer', '9'.repeat(1000)],
    ['number', 'NaN'],
    ['number', 'Infinity'],
    ['number', '1e999'],
    ['number', '1,5'],
    ['number', '.'],
    ['boolean', 'yes'],
    ['boolean', 'TRUE'],
    ['boolean', 'constructor'],
    ['timestamp', '2026-02-30T00:00:00Z'],
    ['timestamp', 'yesterday'],
  ])('of %s cannot be %s', (type, sent) => {
    expect(refused({ type }, sent)).toMatchObject({ code: 'invalid_parameter', status: 400, parameter: 'x' })
  })

  test('that cannot be read is told with what was expected and what came', () => {
    expect(refused({ type: 'timestamp' }, 'yester"day').message).toBe(
      'x must be an ISO 8601 date and time, such as 2026-01-31T12:00:00Z; "yester\\"day" was given.',
    )
    expect(refused({ type: 'integer' }, 'a'.repeat(5000)).message.length).toBeLessThan(200)
  })

  test('that is not allowed is told with those that are', () => {
    const declaration = { required: true, enum: ['minutely', 'hourly', 'daily'] }
    expect(refused(declaration, 'Daily')).toEqual({
      code: 'invalid_parameter',
      status: 400,
      message: 'x must be one of minutely, hourly, daily.',
      parameter: 'x',
      allowed: ['minutely', 'hourly', 'daily'],
    })
    expect(refused(declaration, '')).toMatchObject({ code: 'invalid_parameter' })
    expect(bound(declaration, 'daily')).toBe('daily')
  })

  test('may be 64 KiB long and no longer, in bytes', () => {
    expect(bound({}, 'ü'.repeat(32_768))).toHaveLength(32_768)
    expect(refused({ type: 'regex' }, `${'ü'.repeat(32_768)}a`)).toEqual({
      code: 'invalid_parameter',
      status: 400,
      message: 'x must be at most 65536 bytes long.',
      parameter: 'x',
    })
  })

  test('of a whole number is the same however it was written', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (number) => {
        expect(bound({ type: 'integer' }, String(number))).toBe(String(number))
      }),
    )
  })
})

describe('the values of a call', () => {
  test('are those of the parameters that the SQL uses, and cannot be changed', () => {
    const query = compile('@a @b', { b: { default: '1' }, unused: { default: '2' } })
    const values = query.check({ a: 'x', unused: '3', undeclared: '4' })
    expect(values).toEqual({ a: 'x', b: '1' })
    expect(Object.isFrozen(values)).toBe(true)
  })

  test('do not come from what every object has', () => {
    expect(compile('@constructor @toString').check({})).toEqual({ constructor: null, toString: null })
    expect(compile('@constructor').check({ constructor: 'x' })).toEqual({ constructor: 'x' })
    expect(compile('@toString', {}).sql).toBe('{toString:Nullable(String)}')
  })

  test('are in the same order however they were sent', () => {
    const query = compile('@a @b @c')
    expect(JSON.stringify(query.check({ c: '3', a: '1', b: '2' }))).toBe(
      JSON.stringify(query.check({ b: '2', c: '3', a: '1' })),
    )
  })
})
