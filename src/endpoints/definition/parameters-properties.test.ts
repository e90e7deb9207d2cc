import fc from 'fast-check'
import { expect, test } from 'vitest'
import { WellheadError } from '../../base/errors.ts'
import { cacheKey } from '../../cache/cache-key.ts'
import { type ParameterDeclaration, parameterShape } from './definition.ts'
import { parameterTypeNames, parameterTypes } from './parameter-types.ts'
import { bindQuery } from './parameters.ts'

const name = fc.oneof(
  fc.constantFrom('a', 'project', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'),
  fc.stringMatching(/^[A-Za-z][A-Za-z0-9_]{0,8}$/).filter((text) => text !== 'now'),
)
const sent = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', ' ', '0', '-0', '007', '1e3', 'true', 'NaN', '\0', '\ud800', '2026-01-31T12:00:00Z'),
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

const call = fc.record({
  used: fc.array(name, { maxLength: 5 }),
  declared: fc.dictionary(name, declaration, { maxKeys: 5 }),
  given: fc.dictionary(name, sent, { maxKeys: 8 }),
})

test('whatever is sent, a call is bound in full or refused for one of its parameters', () => {
  fc.assert(
    fc.property(call, ({ used, declared, given }) => {
      const query = bindQuery(used.map((each) => `@${each}`).join(' '), declared)
      try {
        const values = query.check(given)
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
    { numRuns: 500 },
  )
})

test('what is not declared or used does not change what a call is', () => {
  fc.assert(
    fc.property(call, fc.dictionary(name, sent), ({ used, declared, given }, more) => {
      const query = bindQuery(used.map((each) => `@${each}`).join(' '), declared)
      const known = new Set([...used, ...Object.keys(declared)])
      const others = Object.fromEntries(Object.entries(more).filter(([each]) => !known.has(each)))
      expect(outcome(() => query.check({ ...others, ...given }))).toEqual(outcome(() => query.check(given)))
    }),
    { numRuns: 300 },
  )
})

function outcome(run: () => unknown): unknown {
  try {
    return run()
  } catch (error) {
    return (error as Error).message
  }
}

/** Two ways to write one value, for each type that has such. */
const twice: Record<string, fc.Arbitrary<[string, string]>> = {
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
}

const keyOf = (type: string, text: string) => {
  const query = bindQuery('@x', { x: parameterShape.parse({ type }) })
  return cacheKey({
    endpointId: 'e',
    version: 1,
    tenant: null,
    parameters: query.check({ x: text }),
    format: 'f',
  })
}

test.each(Object.keys(twice))('one value of %s has one key of the cache, however it is written', (type) => {
  fc.assert(
    fc.property(twice[type] as fc.Arbitrary<[string, string]>, ([one, other]) => {
      expect(keyOf(type, one)).toBe(keyOf(type, other))
    }),
    { numRuns: 300 },
  )
})

test.each(parameterTypeNames)('two values of %s that the engine could tell apart have two keys', (type) => {
  const { read } = parameterTypes[type]
  const value = (twice[type]?.map(([text]) => text) ?? fc.string({ unit: 'binary' })) as fc.Arbitrary<string>
  fc.assert(
    fc.property(value, value, (one, other) => {
      // As the engine's client writes them: zero has no sign there.
      const same = String(read(one)) === String(read(other))
      expect(keyOf(type, one) === keyOf(type, other)).toBe(same)
    }),
    { numRuns: 300 },
  )
})
