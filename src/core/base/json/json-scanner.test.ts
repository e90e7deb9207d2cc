import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JsonScanner } from './json-scanner.ts'

/** Whether a text is one JSON value. */
function accepts(text: string): boolean {
  const scanner = new JsonScanner(Buffer.from(text))
  scanner.space()
  if (!scanner.value()) return false
  scanner.space()
  return scanner.at === scanner.end
}

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function problemOf(text: string, maxDepth = 64) {
  const scanner = new JsonScanner(Buffer.from(text))
  scanner.maxDepth = maxDepth
  expect(scanner.value()).toBe(true)
  return scanner.problem
}

/** JSON with all forms of whitespace, escapes and numbers. */
const jsonText = fc.letrec<{ value: string }>((tie) => {
  const space = fc.constantFrom('', '', '', ' ', '\n\t', '\r\n  ')
  const joined = (items: string[]) => items.join(',')
  const string = fc.oneof(
    fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
    fc.constantFrom('"\\u00e9"', '"\\ud83d\\ude00"', '"\\uD800"', '"a\\/b\\"c\\\\"', '""'),
  )
  const number = fc.constantFrom('0', '-0', '1.0', '1e5', '-1.5E-7', '12345678901234567890123', '1e400')
  const member = fc.tuple(space, string, space, space, tie('value'), space)
  return {
    value: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(
        string,
        number,
        fc.double({ noNaN: true }).map((n) => JSON.stringify(n)),
      ),
      fc.constantFrom('true', 'false', 'null', '[]', '{}', '[ ]', '{\n}'),
      fc
        .array(fc.tuple(space, tie('value'), space).map((parts) => parts.join('')))
        .map((items) => `[${joined(items)}]`),
      fc
        .array(member.map(([a, key, b, c, value, d]) => `${a}${key}${b}:${c}${value}${d}`))
        .map((items) => `{${joined(items)}}`),
    ),
  }
}).value

describe('the scanner', () => {
  test('accepts exactly the texts that JSON.parse accepts', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'{}[]",:\\u0123eE+-. truefalsn\n') })),
        (text) => void expect(accepts(text)).toBe(parses(text.toWellFormed())),
      ),
      { numRuns: 2_000 },
    )
    fc.assert(
      fc.property(jsonText, (text) => void expect(accepts(text)).toBe(true)),
      { numRuns: 2_000 },
    )
  })

  test('accepts a changed text only if JSON.parse does', () => {
    const place = fc.nat({ max: 10_000 })
    const inserted = fc.constantFrom('', ...'"\\,:{}[]0-.e \n\u0001é')
    fc.assert(
      fc.property(jsonText, place, fc.nat({ max: 2 }), inserted, (text, at, removed, added) => {
        const start = at % (text.length + 1)
        const mutated = (text.slice(0, start) + added + text.slice(start + removed)).toWellFormed()
        expect(accepts(mutated)).toBe(parses(mutated))
      }),
      { numRuns: 3_000 },
    )
  })

  test('accepts a truncated text only if JSON.parse does', () => {
    fc.assert(
      fc.property(jsonText, fc.nat({ max: 10_000 }), (text, at) => {
        const cut = text.slice(0, at % (text.length + 1)).toWellFormed()
        expect(accepts(cut)).toBe(parses(cut))
      }),
      { numRuns: 2_000 },
    )
  })

  test('does not read beyond its end', () => {
    for (const text of ['[1,2]', '"text"', 'true', '{"a":1}', '"\\u0041"']) {
      const bytes = Buffer.from(text)
      for (let end = 0; end < bytes.length; end++) expect(new JsonScanner(bytes, 0, end).value()).toBe(false)
    }
  })

  test('counts empty containers apart, and finds long integers without their sign', () => {
    const scanner = new JsonScanner(Buffer.from('[{},[],[1],-123456789012345,-1234567890123456]'))
    const found: number[] = []
    scanner.longIntegers = found
    expect(scanner.value()).toBe(true)
    expect([scanner.values, scanner.emptyContainers]).toEqual([6, 2])
    expect(found).toEqual([28, 45])
  })

  test('counts the members and elements at every level', () => {
    const scanner = new JsonScanner(Buffer.from('{"a":[1,2,[]],"b":{"c":{}}}'))
    scanner.value()
    expect(scanner.values).toBe(6)
  })

  test.each([
    ...['18446744073709551615', '-9223372036854775808', '1e308', '0e999', '1e-999'],
    `0.${'1'.repeat(400)}`,
  ])('accepts the number %s', (number) => {
    expect(problemOf(`[${number}]`)).toBeUndefined()
  })

  test.each([
    ...['18446744073709551616', '-9223372036854775809', '1e400', '-1e400'],
    `${'9'.repeat(400)}.5`,
    '9'.repeat(100),
  ])('reports the number %s, which fits neither 64 bits nor a double', (number) => {
    expect(problemOf(`[${number}]`)).toBe('number')
  })

  test('reports strings that are not well formed', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('\ud800', '\udc00', '\ud83d\ude00', 'a', '\\') }),
        (text) => {
          const escaped = text
            .replaceAll('\\', '\\\\')
            .replace(/[\ud800-\udfff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`)
          expect(problemOf(`"${escaped}"`)).toBe(text.isWellFormed() ? undefined : 'surrogate')
        },
      ),
    )
  })

  test('reports containers that are nested too deeply', () => {
    expect(problemOf('[[1]]', 2)).toBeUndefined()
    expect(problemOf('[[[]]]', 2)).toBe('depth')
    expect(accepts(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)).toBe(true)
  })
})
