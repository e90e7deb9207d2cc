import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { WellheadError } from '../../base/errors.ts'
import { cacheKey } from '../call/call.ts'
import {
  type ParameterDeclaration,
  parameterShape,
  parameterTypeNames,
  sampleValues,
  typeOf,
} from './parameter-declaration.ts'
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

/** The bound value of parameter x. */
const bound = (declaration: unknown, sent?: string) =>
  compile('@x', { x: declaration }).check(sent === undefined ? {} : { x: sent }).x
const refused = (declaration: unknown, sent?: string) => refusal(() => bound(declaration, sent))

describe('the SQL', () => {
  test('has a typed placeholder for each @name', () => {
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

  test('has a type without null if there is always a value', () => {
    const { sql } = compile('@a, @b', { a: { required: true }, b: { type: 'integer', default: 5 } })
    expect(sql).toBe('{a:String}, {b:Int64}')
  })

  test('has @now as a timestamp that callers cannot send', () => {
    const query = compile('SELECT @now, @a')
    expect(query.sql).toBe("SELECT {now:DateTime64(6, 'UTC')}, {a:Nullable(String)}")
    expect(query.names).toEqual(['a'])
    const values = query.check({ a: 'x', now: '2020-01-01T00:00:00Z' })
    expect(values).toEqual({ a: 'x' })
    expect(withNow(values, 1_767_225_600_123_456n)).toEqual({ a: 'x', now: '1767225600.123456' })
  })

  test('is checked with its example, default or first allowed value', () => {
    const declared = {
      a: { type: 'integer', default: 60, example: 30 },
      b: { type: 'integer', default: 60 },
      c: { enum: ['x', 'y'], default: 'y' },
      d: { enum: ['x', 'y'] },
      e: { type: 'integer' },
    }
    const parsed = Object.entries(declared).map(([name, one]) => [name, parameterShape.parse(one)])
    expect(sampleValues(Object.fromEntries(parsed))).toEqual({ a: '30', b: '60', c: 'y', d: 'x', e: '0' })
  })

  test('keeps text and comments that look like parameters', () => {
    const sql = `SELECT '@a', "@b", \`@c\`, $$@d$$, @@e -- @f\n/* @g /* @h */ @i */`
    expect(compile(sql)).toMatchObject({ sql, names: [] })
  })

  test('must not use names that start with an underscore', () => {
    expect(refusal(() => compile('SELECT 1,\n  @_format'))).toEqual({
      code: 'invalid_query',
      status: 422,
      message: '@_format is not allowed. Parameter names that start with _ are reserved for the service.',
      line: 2,
      column: 3,
    })
  })

  test('lists the parameters that are regular expressions', () => {
    expect(compile('@a @b', { a: { type: 'regex' }, b: {}, c: { type: 'regex' } }).patterns.get('a')).toBe(
      'a',
    )
  })

  test('is unchanged around the parameters', () => {
    const quotes = ["'", '"', '$$', '--', '/*', '*/', '\n', ' ', 'x', '@', '{']
    const piece = fc.constantFrom('@a', '@b1', '@now', ...quotes)
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

describe('an omitted or empty parameter', () => {
  test('is null if it is not declared and omitted', () => {
    expect(compile('@x').check({})).toEqual({ x: null })
    expect(compile('@x').check({ x: '' })).toEqual({ x: '' })
  })

  test.each(parameterTypeNames)('of type %s is null if it is omitted', (type) => {
    expect(bound({ type })).toEqual(type === 'list' ? [] : null)
  })

  test.each([
    [{ default: '1day' }, undefined, '1day'],
    [{ type: 'integer', default: 5 }, undefined, '5'],
    [{}, '', ''],
    [{ required: true }, '', ''],
    [{ type: 'regex', required: true }, '', ''],
    [{ default: 'a' }, '', ''],
    [{ empty_is_omitted: true }, '', null],
    [{ type: 'timestamp', empty_is_omitted: true }, '', null],
    [{ default: 'a', empty_is_omitted: true }, '', 'a'],
  ])('%o sent as %j is %j', (declaration, sent, value) => expect(bound(declaration, sent)).toBe(value))

  test('is an error if it is required', () => {
    const missing = { code: 'missing_parameter', status: 400, parameter: 'x' }
    expect(refused({ required: true })).toEqual({ ...missing, message: 'Parameter "x" is required.' })
    const allowed = ['a', 'b']
    const message = 'Parameter "x" is required. Use one of a, b.'
    expect(refused({ required: true, enum: allowed })).toEqual({ ...missing, message, allowed })
    expect(refused({ required: true, empty_is_omitted: true }, '')).toMatchObject(missing)
    expect(refusal(() => compile('SELECT 1', { x: { required: true } }).check({}))).toMatchObject(missing)
  })

  test.each(['integer', 'number', 'boolean', 'timestamp'])('of type %s is invalid if it is empty', (type) => {
    expect(refused({ type }, '')).toMatchObject({ code: 'invalid_parameter', parameter: 'x' })
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
  ])('of %s is read from %s as %j', (type, sent, value) => expect(bound({ type }, sent)).toBe(value))

  test('of an integer is kept with every digit', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (number) => {
        expect(bound({ type: 'integer' }, String(number))).toBe(String(number))
      }),
    )
  })

  const integers = ['1.0', '1e3', '+1', ' 1', '0x10', '9223372036854775808', '-9223372036854775809']
  const invalid = {
    integer: [...integers, '9'.repeat(1000)],
    number: ['NaN', 'Infinity', '1e999', '1,5', '.'],
    boolean: ['yes', 'TRUE', 'constructor'],
    timestamp: ['2026-02-30T00:00:00Z', 'yesterday'],
  }
  test.each(Object.entries(invalid).flatMap(([type, texts]) => texts.map((sent) => [type, sent])))(
    'of %s cannot be %s',
    (type, sent) => {
      expect(refused({ type }, sent)).toMatchObject({
        code: 'invalid_parameter',
        status: 400,
        parameter: 'x',
      })
    },
  )

  test('that is invalid is reported with the expected and the received value', () => {
    expect(refused({ type: 'timestamp' }, 'yester"day').message).toBe(
      'x must be an ISO 8601 date, or date and time, such as 2026-01-31T12:00:00Z; received "yester\\"day".',
    )
    expect(refused({ type: 'integer' }, 'a'.repeat(5000)).message.length).toBeLessThan(200)
  })

  test('that is not allowed is reported with the allowed values', () => {
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

  test('has at most 65,536 bytes', () => {
    expect(bound({}, 'ü'.repeat(32_768))).toHaveLength(32_768)
    expect(refused({ type: 'regex' }, `${'ü'.repeat(32_768)}a`)).toEqual({
      code: 'invalid_parameter',
      status: 400,
      message: 'x must be at most 65536 bytes long.',
      parameter: 'x',
    })
  })
})

describe('the values of a request', () => {
  test('are those of the used parameters, frozen', () => {
    const query = compile('@a @b', { b: { default: '1' }, unused: { default: '2' } })
    const values = query.check({ a: 'x', unused: '3', undeclared: '4' })
    expect(values).toEqual({ a: 'x', b: '1' })
    expect(Object.isFrozen(values)).toBe(true)
  })

  test('are not inherited from Object', () => {
    expect(compile('@constructor @toString').check({})).toEqual({ constructor: null, toString: null })
    expect(compile('@constructor').check({ constructor: 'x' })).toEqual({ constructor: 'x' })
    expect(compile('@toString', {}).sql).toBe('{toString:Nullable(String)}')
  })

  test('are in the same order, however they are sent', () => {
    const query = compile('@a @b @c')
    expect(JSON.stringify(query.check({ c: '3', a: '1', b: '2' }))).toBe(
      JSON.stringify(query.check({ b: '2', c: '3', a: '1' })),
    )
  })
})

describe('any request', () => {
  const name = fc.oneof(
    fc.constantFrom('a', 'project', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'),
    fc.stringMatching(/^[A-Za-z][A-Za-z0-9_]{0,8}$/).filter((text) => text !== 'now'),
  )
  const odd = ['', ' ', '0', '-0', '007', '1e3', 'true', 'NaN', '\0', '\ud800', '2026-01-31T12:00:00Z']
  const sent = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(...odd),
    fc.double().map(String),
    fc.bigInt().map(String),
  )
  const declaration = fc
    .record({
      type: fc.constantFrom(...parameterTypeNames),
      required: fc.boolean(),
      empty_is_omitted: fc.boolean(),
      default: fc.option(sent, { nil: undefined }),
      enum: fc.option(fc.array(sent, { minLength: 1, maxLength: 3 }), { nil: undefined }),
    })
    .map((fields) => parameterShape.safeParse(fields).data)
    .filter((fields): fields is ParameterDeclaration => fields !== undefined)
  const request = fc.record({
    used: fc.array(name, { maxLength: 5 }),
    declared: fc.dictionary(name, declaration, { maxKeys: 5 }),
    given: fc.dictionary(name, sent, { maxKeys: 8 }),
  })
  const queryOf = ({ used, declared }: { used: string[]; declared: Record<string, ParameterDeclaration> }) =>
    bindQuery(used.map((each) => `@${each}`).join(' '), declared)

  test('is bound in full or refused for one of its parameters', () => {
    fc.assert(
      fc.property(request, ({ used, declared, given }) => {
        try {
          const values = queryOf({ used, declared }).check(given)
          expect(Object.keys(values).toSorted()).toEqual([...new Set(used)].toSorted())
          for (const value of Object.values(values)) {
            expect(['string', 'number', 'boolean', 'object']).toContain(typeof value)
          }
        } catch (error) {
          if (!(error instanceof WellheadError)) throw error
          expect(error.status).toBe(400)
          expect([...used, ...Object.keys(declared)]).toContain(error.details.parameter)
          expect(error.message.length).toBeLessThan(2000)
        }
      }),
      { numRuns: 150 },
    )
  })

  test('is not changed by parameters that are neither declared nor used', () => {
    const outcome = (run: () => unknown) => {
      try {
        return run()
      } catch (error) {
        return (error as Error).message
      }
    }
    fc.assert(
      fc.property(request, fc.dictionary(name, sent), ({ used, declared, given }, more) => {
        const query = queryOf({ used, declared })
        const own = new Set([...used, ...Object.keys(declared)])
        const others = Object.fromEntries(Object.entries(more).filter(([each]) => !own.has(each)))
        expect(outcome(() => query.check({ ...others, ...given }))).toEqual(outcome(() => query.check(given)))
      }),
      { numRuns: 100 },
    )
  })
})

describe('the cache key', () => {
  /** Two ways to write one value, for each type that has several. */
  const pairs: Record<string, fc.Arbitrary<[string, string]>> = {
    integer: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value) => {
      const digits = String(value < 0n ? -value : value)
      const sign = value < 0n ? '-' : ''
      return [`${sign}${digits}`, `${sign}${digits.padStart(19, '0')}`]
    }),
    number: fc
      .double({ noNaN: true, noDefaultInfinity: true })
      .map((value) => [String(value), value.toExponential()]),
    boolean: fc.boolean().map((value) => [String(value), value ? '1' : '0']),
    timestamp: fc
      .date({ min: new Date('0001-01-01'), max: new Date('9999-01-01'), noInvalidDate: true })
      .map((value) => [value.toISOString(), value.toISOString().replace('T', ' ').replace('Z', '000 00:00')]),
    date: fc
      .date({ min: new Date('1900-01-01'), max: new Date('2299-01-01'), noInvalidDate: true })
      .map((value) => [value.toISOString().slice(0, 10), value.toISOString().slice(0, 10)]),
  }
  const keyOf = (type: string, text: string) => {
    const parameters = compile('@x', { x: { type } }).check({ x: text })
    return cacheKey({
      endpointId: 'e',
      tag: 'v1',
      tenant: null,
      retentionDays: null,
      parameters,
      format: 'f',
    })
  }

  test.each(Object.entries(pairs))('of a value of %s is the same, however it is written', (type, pair) => {
    const isSame = fc.property(pair, ([one, other]) => keyOf(type, one) === keyOf(type, other))
    fc.assert(isSame, { numRuns: 100 })
  })

  test.each(parameterTypeNames)('differs for values of %s that the engine can tell apart', (type) => {
    const { read } = typeOf({ type })
    const value = pairs[type]?.map(([text]) => text) ?? fc.string({ unit: 'binary' })
    fc.assert(
      fc.property(value, value, (one, other) => {
        // As the engine's client writes them: zero has no sign there.
        const same = JSON.stringify(read(one)) === JSON.stringify(read(other))
        expect(keyOf(type, one) === keyOf(type, other)).toBe(same)
      }),
      { numRuns: 100 },
    )
  })
})
