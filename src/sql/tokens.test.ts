import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type SqlTokenKind, sqlTokens } from './tokens.ts'

type Piece = [kind: SqlTokenKind, text: string]

function allPieces(sql: string): Piece[] {
  return [...sqlTokens(sql)].map((token) => [token.kind, sql.slice(token.start, token.end)])
}

/** Without the spaces, which would only be in the way here. */
function pieces(sql: string): Piece[] {
  return allPieces(sql).filter(([kind]) => kind !== 'space')
}

/** Whether the text is one token of that kind, from its first to its last character. */
function isOne(kind: SqlTokenKind, text: string): void {
  expect(pieces(text)).toEqual([[kind, text]])
  expect(pieces(`a,${text}+b`)).toEqual([
    ['word', 'a'],
    ['symbol', ','],
    [kind, text],
    ['symbol', '+'],
    ['word', 'b'],
  ])
}

test('a query falls into its tokens', () => {
  expect(allPieces("SELECT a.b, 'x' FROM t -- end")).toEqual([
    ['word', 'SELECT'],
    ['space', ' '],
    ['word', 'a'],
    ['symbol', '.'],
    ['word', 'b'],
    ['symbol', ','],
    ['space', ' '],
    ['string', "'x'"],
    ['space', ' '],
    ['word', 'FROM'],
    ['space', ' '],
    ['word', 't'],
    ['space', ' '],
    ['comment', '-- end'],
  ])
})

test('no text has no tokens', () => {
  expect(allPieces('')).toEqual([])
})

describe('strings', () => {
  test.each([
    `''`,
    `'plain'`,
    `'it''s'`,
    `''''`,
    `'it\\'s'`,
    `'\\\\'`,
    `'\\\\\\''`,
    `'two\nlines'`,
    `'-- no comment'`,
    `'/* no comment'`,
    `'# no comment'`,
    `'; no end'`,
    `'"'`,
    `'\`'`,
    `'$a$'`,
    `'@no_parameter'`,
    `'someone@example.com'`,
    `'{no:Placeholder}'`,
    `'‘'`,
    `'\0'`,
    `'😀'`,
  ])('%j is one string', (text) => isOne('string', text))

  test('a backslash pair does not escape the closing quote', () => {
    expect(pieces(`'a\\\\' b`)).toEqual([
      ['string', `'a\\\\'`],
      ['word', 'b'],
    ])
  })

  test('strings with something between them are two', () => {
    expect(pieces(`'a' 'b'`)).toEqual([
      ['string', `'a'`],
      ['string', `'b'`],
    ])
  })
})

describe('quoted identifiers', () => {
  test.each([
    '"plain"',
    '`plain`',
    '""',
    '"a""b"',
    '`a``b`',
    '"a\\"b"',
    '`a\\`b`',
    '"it\'s"',
    '`a"b`',
    '"@name"',
    '`-- name`',
    '"FROM"',
  ])('%j is one quoted identifier', (text) => isOne('quoted-identifier', text))
})

describe('typographic quotes', () => {
  test('single ones hold a string, double ones an identifier', () => {
    isOne('string', '‘text’')
    isOne('quoted-identifier', '“name”')
  })

  test('a backslash escapes nothing in them', () => {
    expect(pieces('‘a\\’ b')).toEqual([
      ['string', '‘a\\’'],
      ['word', 'b'],
    ])
  })

  test('a doubled closing quote ends them at the first', () => {
    expect(pieces('‘a’’')).toEqual([
      ['string', '‘a’'],
      ['symbol', '’'],
    ])
  })

  test('an opening quote inside does not nest, and plain quotes inside are text', () => {
    isOne('string', '‘a ‘ b’')
    isOne('string', `‘it's "here"’`)
  })

  test('a closing quote alone is a symbol', () => {
    expect(pieces('”')).toEqual([['symbol', '”']])
  })
})

describe('comments', () => {
  test.each([
    '-- to the end',
    '--no space needed',
    '# to the end',
    '#!/usr/bin/env x',
    "-- it's",
    '-- /* no block',
  ])('%j runs to the end of the line and no further', (comment) => {
    expect(pieces(`${comment}\nb`)).toEqual([
      ['comment', comment],
      ['word', 'b'],
    ])
    expect(pieces(comment)).toEqual([['comment', comment]])
  })

  test('a line comment may begin right after anything', () => {
    expect(pieces('1--2')).toEqual([
      ['number', '1'],
      ['comment', '--2'],
    ])
  })

  test('a hash without a space behind it is a symbol', () => {
    expect(pieces('#x')).toEqual([
      ['symbol', '#'],
      ['word', 'x'],
    ])
  })

  test('a carriage return does not end a line comment', () => {
    expect(pieces('-- a\rb')).toEqual([['comment', '-- a\rb']])
  })

  test.each([
    '/**/',
    '/* one */',
    '/* two\nlines */',
    '/* /* nested */ again */',
    '/*/* /**/ */*/',
    '/***/',
    "/* it's */",
    '/* -- */',
    '/* @name */',
  ])('%j is one comment', (text) => isOne('comment', text))

  test('a slash right after the opening does not close a comment', () => {
    expect(pieces('/*/ */ a')).toEqual([
      ['comment', '/*/ */'],
      ['word', 'a'],
    ])
  })

  test('what follows the outer end of nested comments is code', () => {
    expect(pieces('/* a /* b */ c */ d */')).toEqual([
      ['comment', '/* a /* b */ c */'],
      ['word', 'd'],
      ['symbol', '*'],
      ['symbol', '/'],
    ])
  })
})

describe('heredocs', () => {
  test.each([
    '$$text$$',
    '$$$$',
    "$$it's$$",
    '$tag$text$tag$',
    '$tag$ $other$ $tag$',
    '$1$a$1$',
    '$a$-- no comment\n$a$',
    '$a$@no_parameter$a$',
  ])('%j is one string', (text) => isOne('string', text))

  test('a heredoc ends at the first mark of its own', () => {
    expect(pieces('$a$x$a$ y $a$')).toEqual([
      ['string', '$a$x$a$'],
      ['word', 'y'],
      ['word', '$a$'],
    ])
  })

  test('a dollar inside a word opens nothing', () => {
    expect(pieces("a$b$ 'c' $b$")).toEqual([
      ['word', 'a$b$'],
      ['string', "'c'"],
      ['word', '$b$'],
    ])
  })

  test('a mark that is never repeated is a word', () => {
    expect(pieces("$a$ 'b'")).toEqual([
      ['word', '$a$'],
      ['string', "'b'"],
    ])
  })

  test('a mark holds letters, digits and underscores only', () => {
    expect(pieces("$a b$ 'c' $a b$")).toContainEqual(['string', "'c'"])
  })
})

describe('parameters', () => {
  test.each(['@name', '@_x', '@a1', '@Project_Tier', '@now'])('%s is one parameter', (text) =>
    isOne('parameter', text),
  )

  test('a parameter ends where its name does', () => {
    expect(pieces('@a.b+@c::String')).toEqual([
      ['parameter', '@a'],
      ['symbol', '.'],
      ['word', 'b'],
      ['symbol', '+'],
      ['parameter', '@c'],
      ['symbol', ':'],
      ['symbol', ':'],
      ['word', 'String'],
    ])
  })

  test('two at signs are a server variable and no parameter', () => {
    expect(pieces('@@name')).toEqual([
      ['symbol', '@@'],
      ['word', 'name'],
    ])
    expect(pieces('@@@name').map(([kind]) => kind)).not.toContain('parameter')
  })

  test.each(['@', '@ name', '@1', '@-', "@'x'", '@ü'])('%j holds no parameter', (text) => {
    expect(pieces(text).map(([kind]) => kind)).not.toContain('parameter')
  })

  test.each([
    "'@name'",
    '"@name"',
    '`@name`',
    '‘@name’',
    '$$@name$$',
    '-- @name',
    '# @name',
    '/* @name */',
    "'someone@example.com'",
  ])('%j holds no parameter either: it is text', (text) => {
    expect(pieces(`SELECT 1 ${text}`).map(([kind]) => kind)).not.toContain('parameter')
  })

  test('a parameter next to a string or a comment is still one', () => {
    expect(pieces("'a'@b/* c */@d").map(([kind]) => kind)).toEqual([
      'string',
      'parameter',
      'comment',
      'parameter',
    ])
  })
})

describe('numbers and words', () => {
  test.each(['0', '42', '1_000', '1.5', '.5', '1e9', '1E-9', '1.5e+3', '.5e3', '0xFF', '0Xab', '0b101'])(
    '%s is one number',
    (text) => isOne('number', text),
  )

  test.each(['a', '_a', 'a1', 'SELECT', 'sipHash64', 'größe', 'a$b'])('%s is one word', (text) =>
    isOne('word', text),
  )

  test('an exponent without digits is no part of a number', () => {
    expect(pieces('1e')).toEqual([
      ['number', '1'],
      ['word', 'e'],
    ])
  })

  test('a minus is a symbol and never part of a number', () => {
    expect(pieces('3-1')).toEqual([
      ['number', '3'],
      ['symbol', '-'],
      ['number', '1'],
    ])
  })
})

describe('spaces', () => {
  test.each([' ', '\t', '\n', '\r', '\f', '\v', '\u00a0', '\u2003', '\u2028', '\u3000', '\ufeff'])(
    '%j is space',
    (text) => {
      expect(allPieces(`a${text}b`)).toEqual([
        ['word', 'a'],
        ['space', text],
        ['word', 'b'],
      ])
    },
  )

  test('spaces of several kinds are one token', () => {
    expect(allPieces(' \t\r\n\u00a0')).toEqual([['space', ' \t\r\n\u00a0']])
  })
})

describe('what is not terminated', () => {
  test.each(["'a", '"a', '`a', '‘a', '“a', '/* a', '/* a /* b */', "'a\\'", "'a''", "'", "'a\\"])(
    '%j reaches to the end of the text',
    (text) => {
      expect(pieces(`${text} @b ; c`)).toEqual([['unterminated', `${text} @b ; c`]])
    },
  )
})

describe('any text', () => {
  /** Pieces of SQL in any order reach the corners that random characters hardly ever do. */
  const fragments = [
    ...["'", '"', '`', '‘', '’', '“', '”', '\\', '$', '$$', '$a$', '--', '# ', '/*', '*/', '\n', ' '],
    ...['@', '@@', '@a', '@1', 'a', 'SELECT', 'ü', '1', '1e', '.5', '0x', ';', '{', '}', ':', '😀', '\0'],
  ]
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(fc.constantFrom(...fragments)).map((parts) => parts.join('')),
  )

  test('is covered by its tokens without gap or overlap', () => {
    fc.assert(
      fc.property(text, (sql) => {
        let at = 0
        for (const token of sqlTokens(sql)) {
          expect(token.start).toBe(at)
          expect(token.end).toBeGreaterThan(at)
          at = token.end
        }
        expect(at).toBe(sql.length)
      }),
      { numRuns: 2000 },
    )
  })

  test('is read the same wherever it begins: tokens do not depend on what a finished line says', () => {
    fc.assert(
      fc.property(text, (sql) => {
        expect(pieces(`SELECT 1\n${sql}`).slice(2)).toEqual(pieces(sql))
      }),
      { numRuns: 2000 },
    )
  })

  test('is one string when its quotes and backslashes are escaped', () => {
    fc.assert(
      fc.property(text, (value) => {
        isOne('string', `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`)
      }),
      { numRuns: 2000 },
    )
  })
})
