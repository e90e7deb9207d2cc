import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type SqlTokenKind, sqlTokens } from './tokens.ts'

type Piece = readonly [SqlTokenKind, string]

function pieces(sql: string): Piece[] {
  return [...sqlTokens(sql)].map(({ kind, start, end }) => [kind, sql.slice(start, end)])
}

const texts = fc.string({ unit: fc.constantFrom(...'ab\'"`‘’“”\\$@-#/* \n{}:;😀') })
const names = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/)
const quoted = (quote: string) => (text: string) =>
  quote + text.replaceAll('\\', '\\\\').replaceAll(quote, quote + quote) + quote
const without = (pattern: RegExp) => (text: string) => text.replace(pattern, '')
const piece = (kind: SqlTokenKind, text: fc.Arbitrary<string>): fc.Arbitrary<Piece> =>
  text.map((written) => [kind, written])

/** Pieces of SQL of which it is known what each of them is, because it was written as that. */
const known = fc.oneof(
  piece('word', names),
  piece(
    'parameter',
    names.map((name) => `@${name}`),
  ),
  piece(
    'number',
    fc.nat().map((value) => String(value)),
  ),
  piece('string', texts.map(quoted("'"))),
  piece(
    'string',
    texts.map((text) => `‘${without(/’/g)(text)}’`),
  ),
  piece(
    'string',
    texts.map((text) => `$q$${without(/\$/g)(text)}$q$`),
  ),
  piece('quoted-identifier', texts.map(quoted('"'))),
  piece('quoted-identifier', texts.map(quoted('`'))),
  piece(
    'comment',
    texts.map((text) => `-- ${without(/\n/g)(text)}`),
  ),
  piece(
    'comment',
    texts.map((text) => `/* ${without(/[*/]/g)(text)} */`),
  ),
  piece('symbol', fc.constantFrom(...'(),;+=<>[]{}:')),
)

test('what was written as text, comment or code is read as that, whatever is in it', () => {
  fc.assert(
    fc.property(fc.array(known), (written) => {
      const sql = written.map(([, text]) => text).join('\n')
      expect(pieces(sql).filter(([kind]) => kind !== 'space')).toEqual(written)
    }),
    { numRuns: 500 },
  )
})

test('a token that stands alone is the same token', () => {
  const fragments = ["'", '"', '`', '‘', '’', '\\', '$', '$$', '$a$', '--', '# ', '/*', '*/', '\n', ' ', '@']
  const sql = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(fc.constantFrom(...fragments, '@a', 'a', 'ü', '1', '1e', '.5', '0x', ';', '\0')).map((all) => {
      return all.join('')
    }),
  )
  fc.assert(
    fc.property(sql, (text) => {
      for (const [kind, written] of pieces(text)) expect(pieces(written)).toEqual([[kind, written]])
    }),
    { numRuns: 500 },
  )
})

/** A reading that looks back or ahead for each of them would not end within the time of a test. */
test.each(["'", '"', '$', '$$', '$a$', '/*', '*/', '/**/', '--', '@', '@a ', '\\', '(', '1e', '‘', "'\\"])(
  'three hundred thousand characters of %j are read in one go',
  (text) => {
    const sql = text.repeat(Math.ceil(300_000 / text.length))
    let at = 0
    for (const { end } of sqlTokens(sql)) at = end
    expect(at).toBe(sql.length)
  },
)

test('a hundred thousand different marks of heredocs that are never closed are read in one go', () => {
  const sql = Array.from({ length: 100_000 }, (_, index) => `$a${index}$ `).join('')
  expect([...sqlTokens(sql)].filter(({ kind }) => kind === 'word')).toHaveLength(100_000)
})
