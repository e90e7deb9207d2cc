import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parametersIn, type SqlTokenKind, sqlTokens } from './sql-tokens.ts'

type Piece = [kind: SqlTokenKind, text: string]

function allPieces(sql: string): Piece[] {
  return [...sqlTokens(sql)].map(({ kind, start, end }) => [kind, sql.slice(start, end)])
}

const pieces = (sql: string) => allPieces(sql).filter(([kind]) => kind !== 'space')
const kinds = (sql: string) => pieces(sql).map(([kind]) => kind)

/** Writes tokens as "kind:text", one after the other. */
const written = (sql: string) => pieces(sql).map(([kind, text]) => `${kind}:${text}`)

function expectOneToken(kind: SqlTokenKind, text: string): void {
  expect(pieces(text)).toEqual([[kind, text]])
  expect(pieces(`a,${text}+b`)).toEqual([
    ['word', 'a'],
    ['symbol', ','],
    [kind, text],
    ['symbol', '+'],
    ['word', 'b'],
  ])
}

const single: Partial<Record<SqlTokenKind, readonly string[]>> = {
  string: [
    ...[`''`, `'plain'`, `'it''s'`, `''''`, `'it\\'s'`, `'\\\\'`, `'\\\\\\''`, `'two\nlines'`, `'"'`, `'\`'`],
    ...[`'-- no comment'`, `'/* no comment'`, `'# no comment'`, `'; no end'`, `'$a$'`, `'‘'`, `'\0'`, `'😀'`],
    ...[`'@no_parameter'`, `'someone@example.com'`, `'{no:Placeholder}'`],
    // Typographic quotes do not nest, and plain quotes inside are text.
    ...['‘text’', '‘a ‘ b’', `‘it's "here"’`],
    // Heredocs.
    ...['$$text$$', '$$$$', "$$it's$$", '$tag$text$tag$', '$tag$ $other$ $tag$', '$1$a$1$'],
    ...['$a$-- no comment\n$a$', '$a$@no_parameter$a$'],
  ],
  'quoted-identifier': [
    ...['"plain"', '`plain`', '""', '"a""b"', '`a``b`', '"a\\"b"', '`a\\`b`', '"it\'s"', '`a"b`', '"@name"'],
    ...['`-- name`', '"FROM"', '“name”'],
  ],
  comment: [
    ...['/**/', '/* one */', '/* two\nlines */', '/* /* nested */ again */', '/*/* /**/ */*/', '/***/'],
    ...["/* it's */", '/* -- */', '/* @name */'],
  ],
  parameter: ['@name', '@_x', '@a1', '@Project_Tier', '@now'],
  number: ['0', '42', '1_000', '1.5', '.5', '1e9', '1E-9', '1.5e+3', '.5e3', '0xFF', '0Xab', '0b101'],
  word: ['a', '_a', 'a1', 'SELECT', 'sipHash64', 'größe', 'a$b'],
}

describe.each(Object.entries(single))('one %s', (kind, texts) => {
  test.each(texts)('%j', (text) => expectOneToken(kind as SqlTokenKind, text))
})

test.each([
  ['no text has no tokens', '', []],
  ['a backslash pair does not escape a quote', `'a\\\\' b`, [`string:'a\\\\'`, 'word:b']],
  ['strings with a space between them are two', `'a' 'b'`, [`string:'a'`, `string:'b'`]],
  ['a backslash does not escape a typographic quote', '‘a\\’ b', ['string:‘a\\’', 'word:b']],
  ['a doubled typographic quote ends at the first', '‘a’’', ['string:‘a’', 'symbol:’']],
  ['a closing typographic quote alone is a symbol', '”', ['symbol:”']],
  ['a line comment can follow anything', '1--2', ['number:1', 'comment:--2']],
  ['a hash without a space is a symbol', '#x', ['symbol:#', 'word:x']],
  ['a carriage return does not end a line comment', '-- a\rb', ['comment:-- a\rb']],
  ['a slash after the opening does not close a comment', '/*/ */ a', ['comment:/*/ */', 'word:a']],
  [
    'code follows the outer end of nested comments',
    '/* a /* b */ c */ d */',
    ['comment:/* a /* b */ c */', 'word:d', 'symbol:*', 'symbol:/'],
  ],
  ['a heredoc ends at its first tag', '$a$x$a$ y $a$', ['string:$a$x$a$', 'word:y', 'word:$a$']],
  ['a dollar inside a word opens nothing', "a$b$ 'c' $b$", ['word:a$b$', "string:'c'", 'word:$b$']],
  ['a tag that is not repeated is a word', "$a$ 'b'", ['word:$a$', "string:'b'"]],
  [
    'a parameter ends with its name',
    '@a.b+@c::String',
    ['parameter:@a', 'symbol:.', 'word:b', 'symbol:+', 'parameter:@c', 'symbol::', 'symbol::', 'word:String'],
  ],
  ['two at signs are a server variable', '@@name', ['symbol:@@', 'word:name']],
  [
    'parameters can touch strings and comments',
    "'a'@b/* c */@d",
    ["string:'a'", 'parameter:@b', 'comment:/* c */', 'parameter:@d'],
  ],
  ['an exponent needs digits', '1e', ['number:1', 'word:e']],
  ['a minus is not part of a number', '3-1', ['number:3', 'symbol:-', 'number:1']],
])('%s', (_, sql, expected) => expect(written(sql)).toEqual(expected))

test('a heredoc tag has letters, digits and underscores only', () => {
  expect(written("$a b$ 'c' $a b$")).toContain("string:'c'")
})

test('a query is split into its tokens', () => {
  const texts = allPieces("SELECT a.b, 'x' FROM t -- end").map(([kind, text]) => `${kind}:${text}`)
  expect(texts.join('|')).toBe(
    "word:SELECT|space: |word:a|symbol:.|word:b|symbol:,|space: |string:'x'|space: |word:FROM|space: |word:t|" +
      'space: |comment:-- end',
  )
})

test.each([
  '-- to the end',
  '--no space needed',
  '# to the end',
  '#!/usr/bin/env x',
  "-- it's",
  '-- /* no block',
])('%j is a comment up to the end of the line', (comment) => {
  expect(written(`${comment}\nb`)).toEqual([`comment:${comment}`, 'word:b'])
  expect(written(comment)).toEqual([`comment:${comment}`])
})

test.each([
  ...['@', '@ name', '@1', '@-', "@'x'", '@ü', '@@@name'],
  ...["'@name'", '"@name"', '`@name`', '‘@name’', '$$@name$$', '-- @name', '# @name', '/* @name */'],
  "'someone@example.com'",
])('%j contains no parameter', (text) => {
  expect(kinds(text)).not.toContain('parameter')
  expect(kinds(`SELECT 1 ${text}`)).not.toContain('parameter')
})

test.each([...' \t\n\r\f\v\u00a0\u2003\u2028\u3000\ufeff', ' \t\r\n\u00a0'])('%j is one space', (text) => {
  expect(allPieces(`a${text}b`)).toEqual([
    ['word', 'a'],
    ['space', text],
    ['word', 'b'],
  ])
})

test.each(["'a", '"a', '`a', '‘a', '“a', '/* a', '/* a /* b */', "'a\\'", "'a''", "'", "'a\\"])(
  'an unterminated %j reaches to the end of the text',
  (text) => expect(pieces(`${text} @b ; c`)).toEqual([['unterminated', `${text} @b ; c`]]),
)

describe('any text', () => {
  /** Fragments of SQL in any order reach cases that random characters rarely do. */
  const fragments = [
    ...["'", '"', '`', '‘', '’', '“', '”', '\\', '$', '$$', '$a$', '--', '# ', '/*', '*/', '\n', ' '],
    ...['@', '@@', '@a', '@1', 'a', 'SELECT', 'ü', '1', '1e', '.5', '0x', ';', '{', '}', ':', '😀', '\0'],
  ]
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(fc.constantFrom(...fragments)).map((parts) => parts.join('')),
  )
  const holds = (property: (sql: string) => void, numRuns = 500) =>
    fc.assert(
      fc.property(text, (sql) => {
        property(sql)
      }),
      { numRuns },
    )

  test('is covered by its tokens without gaps or overlaps', () => {
    holds((sql) => {
      let at = 0
      for (const token of sqlTokens(sql)) {
        expect(token.start).toBe(at)
        expect(token.end).toBeGreaterThan(at)
        at = token.end
      }
      expect(at).toBe(sql.length)
    })
  })

  test('has the same tokens after a finished line', () => {
    holds((sql) => expect(pieces(`SELECT 1\n${sql}`).slice(2)).toEqual(pieces(sql)))
  })

  test('is one string when its quotes and backslashes are escaped', () => {
    holds((value) => expectOneToken('string', `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`))
  })

  test('has tokens that are the same tokens alone', () => {
    holds((sql) => {
      for (const [kind, own] of allPieces(sql)) expect(allPieces(own)).toEqual([[kind, own]])
    }, 500)
  })
})

test('strings, comments and code are recognized, whatever they contain', () => {
  const texts = fc.string({ unit: fc.constantFrom(...'ab\'"`‘’“”\\$@-#/* \n{}:;😀') })
  const names = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/)
  const quoted = (quote: string) => (text: string) =>
    quote + text.replaceAll('\\', '\\\\').replaceAll(quote, quote + quote) + quote
  const piece = <T>(kind: SqlTokenKind, source: fc.Arbitrary<T>, write: (value: T) => string) =>
    source.map((value): Piece => [kind, write(value)])
  const any = fc.oneof(
    piece('word', names, String),
    piece('parameter', names, (name) => `@${name}`),
    piece('number', fc.nat(), String),
    piece('string', texts, quoted("'")),
    piece('string', texts, (text) => `‘${text.replace(/’/g, '')}’`),
    piece('string', texts, (text) => `$q$${text.replace(/\$/g, '')}$q$`),
    piece('quoted-identifier', texts, quoted('"')),
    piece('quoted-identifier', texts, quoted('`')),
    piece('comment', texts, (text) => `-- ${text.replace(/\n/g, '')}`),
    piece('comment', texts, (text) => `/* ${text.replace(/[*/]/g, '')} */`),
    piece('symbol', fc.constantFrom(...'(),;+=<>[]{}:'), String),
  )
  fc.assert(
    fc.property(fc.array(any), (expected) => {
      expect(pieces(expected.map(([, text]) => text).join('\n'))).toEqual(expected)
    }),
    { numRuns: 500 },
  )
})

/** A tokenizer that searches back or ahead for each token would exceed the time limit of a test. */
test.each(["'", '"', '$', '$$', '$a$', '/*', '*/', '/**/', '--', '@', '@a ', '\\', '(', '1e', '‘', "'\\"])(
  '300,000 characters of %j are read in linear time',
  (text) => {
    const sql = text.repeat(Math.ceil(300_000 / text.length))
    let at = 0
    for (const { end } of sqlTokens(sql)) at = end
    expect(at).toBe(sql.length)
  },
)

test('100,000 different unclosed heredoc tags are read in linear time', () => {
  const sql = Array.from({ length: 100_000 }, (_, index) => `$a${index}$ `).join('')
  expect([...sqlTokens(sql)].filter(({ kind }) => kind === 'word')).toHaveLength(100_000)
})

test.each([
  ['SELECT @a, @b FROM x WHERE y = @a', ['a', 'b']],
  ['SELECT @now - INTERVAL 1 HOUR', []],
  ["SELECT 'a@b', '\\'@c', \"@d\", `@e` -- @f\n, /* @g\n */ @h # @i", ['h']],
  ['SELECT @@version, @_x, @1', ['_x']],
  ['SELEC @typo FRM', ['typo']],
  ["SELECT @a, 'not closed @b", ['a']],
  ['', []],
])('finds the parameters of %j', (query, names) => {
  expect(parametersIn(query)).toEqual(names)
})

test('finds parameters after a quote that is not closed yet, but none in an open comment', () => {
  expect(parametersIn("SELECT @a, 'x @b, @@c, @a", true)).toEqual(['a', 'b'])
  expect(parametersIn('SELECT @a /* @b', true)).toEqual(['a'])
})

test('finds parameters in a megabyte of SQL', () => {
  expect(parametersIn(`SELECT ${"'@a', ".repeat(150_000)} @b`)).toEqual(['b'])
})
