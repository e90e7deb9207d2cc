import { describe, expect, test } from 'vitest'
import { engineUnavailable, invalidQuery } from '../base/errors.ts'
import { editSql, positionOf } from './edits.ts'
import { authorError, authorPosition, errorInTypedText } from './errors.ts'

describe('authorPosition', () => {
  const query = 'SELECT @a,\n  @from + @a AS x, metadata.b::String, y\nFROM t'
  const edit = (own: string, text: string, from = 0) => {
    const start = query.indexOf(own, from)
    return { start, end: start + own.length, text }
  }
  const compiled = editSql(query, [
    edit('metadata.b::String', "JSONExtract(metadata, 'b', 'String')"),
    edit('@a', '{a:String}'),
    edit('@from', '{from:Nullable(Int64)}'),
    edit('@a', '{a:String}', query.indexOf('@from')),
  ])

  test.each([
    ['SELECT', 'SELECT'],
    [' AS x', ' AS x'],
    [', y\n', ', y\n'],
    ['FROM t', 'FROM t'],
    ['{from', '@from'],
    ['Nullable(', '@from'],
    ["'b', ", 'metadata.b'],
  ])('maps %j to %j', (theirs, own) => {
    const at = positionOf(compiled.text, compiled.text.indexOf(theirs))
    expect(authorPosition(compiled, at)).toEqual(positionOf(query, query.indexOf(own)))
  })

  const broken = 'SELECT metadata\n  .a\n  .b, nope\nFROM t'
  const short = { start: broken.indexOf('metadata'), end: broken.indexOf(', nope'), text: 'x' }

  test.each([
    ['line breaks that an edit removes', editSql(broken, [short]), [1, 11], { line: 3, column: 7 }],
    ['the line after them', editSql(broken, [short]), [2, 1], { line: 4, column: 1 }],
    ['characters, not bytes', editSql("SELECT 'üü😀', nope", []), [1, 20], { line: 1, column: 16 }],
    ['what follows as the end', editSql('SELECT\n 1 +\n', []), [9, 1], { line: 2, column: 5, isEnd: true }],
  ])('counts %s', (_, edited, [line = 0, column = 0], expected) => {
    expect(authorPosition(edited, { line, column })).toEqual(expected)
  })
})

describe('authorError', () => {
  const shown = (message: string) => (authorError(invalidQuery(message), () => undefined) as Error).message

  test.each([
    [
      'the rest of the statement',
      'Syntax error: failed at position 40 (bar) (line 3, col 1): bar)\nFORMAT X. Expected one of: Comma, FROM.',
      'Syntax error at "bar". Expected one of: Comma, FROM.',
    ],
    [
      'the scope, which is the whole statement',
      "Unknown identifier `x` in scope WITH 'secret' AS a SELECT x. Maybe you meant: ['y'].",
      "Unknown identifier `x`. Maybe you meant: ['y'].",
    ],
    [
      'a token that the engine cannot read, and everything after it',
      "Syntax error: failed at position 8 (b'abc'\n)\nFORMAT TSV SETTINGS x = 1) (line 2, col 1): b'abc'",
      'Syntax error at "b\'abc\'".',
    ],
    [
      'the query',
      "Column 'id' is not under aggregate function. In query SELECT id FROM t",
      "Column 'id' is not under aggregate function.",
    ],
    ['a scope at the end', "There is no b: In scope SELECT 'secret'", 'There is no b.'],
    [
      'internal steps of the engine',
      "Division by zero: while executing 'FUNCTION intDiv(__table1.x)'.",
      'Division by zero.',
    ],
  ])('leaves out %s', (_, message, expected) => expect(shown(message)).toBe(expected))

  test('leaves out the text after the end and a long list of expected tokens', () => {
    const error = invalidQuery(
      `Syntax error: failed at position 40 ()) (line 2, col 1): ). Expected one of: ${'token, '.repeat(40)}end.`,
      { line: 3, column: 1 },
    )
    const own = authorError(error, ({ line, column }) =>
      authorPosition(editSql('SELECT 1 +', []), { line: line - 1, column }),
    )
    expect(own).toMatchObject({
      message: 'Syntax error at the end of the query.',
      details: { line: 1, column: 11 },
    })
  })

  test('returns other errors unchanged', () => {
    const error = engineUnavailable('The engine stopped the query.')
    expect(authorError(error, () => undefined)).toBe(error)
  })
})

describe('errorInTypedText', () => {
  const typed = "SELECT 'nope', -- nope\n  nope FROM edge_logs"

  test.each([
    [invalidQuery('Syntax error', { line: 1, column: 8 }), 'SELECT x', { line: 1, column: 8 }],
    [invalidQuery('Syntax error', { line: 1, column: 8 }), '\n\n  SELECT x', { line: 3, column: 10 }],
    [invalidQuery('Syntax error', { line: 2, column: 4 }), '\n  SELECT x\nFRM', { line: 3, column: 4 }],
    [invalidQuery('Unknown expression identifier `nope`.'), typed, { line: 2, column: 3 }],
    [invalidQuery('Unknown expression or function identifier `nope`.'), typed, { line: 2, column: 3 }],
    [invalidQuery("1st argument 'x' to function 'trunc'."), 'SELECT 1, trunc(1)', { line: 1, column: 11 }],
    [invalidQuery('Unknown source "edge_lgs".'), 'SELECT 1 FROM edge_lgs', { line: 1, column: 15 }],
    [invalidQuery('The function foo is not allowed.'), 'SELECT foo(1)', { line: 1, column: 8 }],
    [invalidQuery('The type AggregateFunction is not allowed.'), 'SELECT x WHERE x IS NULL', {}],
    [invalidQuery('Only one SELECT is allowed.'), 'x', {}],
  ])('$message in %j is at %o', (error, text, details) => {
    expect((errorInTypedText(error, text) as typeof error).details).toEqual(details)
  })

  test('returns other errors unchanged', () => {
    const other = new Error('x')
    expect(errorInTypedText(other, 'SELECT 1')).toBe(other)
  })
})
