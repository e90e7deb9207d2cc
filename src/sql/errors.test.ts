import { describe, expect, test } from 'vitest'
import { engineUnavailable, invalidQuery } from '../base/errors.ts'
import { editSql } from './edits.ts'
import { authorPosition, positionOf, retold } from './errors.ts'

describe('a place in compiled SQL', () => {
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
  ])('%j is that in what its author wrote', (theirs, own) => {
    const at = positionOf(compiled.text, compiled.text.indexOf(theirs))
    expect(authorPosition(compiled, at)).toEqual(positionOf(query, query.indexOf(own)))
  })

  test('is found where an edit takes out line breaks', () => {
    const text = 'SELECT metadata\n  .a\n  .b, nope\nFROM t'
    const start = text.indexOf('metadata')
    const edited = editSql(text, [{ start, end: text.indexOf(', nope'), text: 'x' }])
    expect(authorPosition(edited, { line: 1, column: 'SELECT x, '.length + 1 })).toEqual({
      line: 3,
      column: 7,
    })
    expect(authorPosition(edited, { line: 2, column: 1 })).toEqual({ line: 4, column: 1 })
  })

  test('is counted in characters, where the engine counts bytes', () => {
    const text = editSql("SELECT 'üü😀', nope", [])
    const column = Buffer.byteLength("SELECT 'üü😀', ") + 1
    expect(authorPosition(text, { line: 1, column })).toEqual({ line: 1, column: 16 })
  })

  test('behind the end is the end', () => {
    expect(authorPosition(editSql('SELECT\n 1 +\n', []), { line: 9, column: 1 })).toEqual({
      line: 2,
      column: 5,
      isEnd: true,
    })
  })
})

describe('what the engine says', () => {
  const tell = (message: string) => (retold(invalidQuery(message), () => undefined) as Error).message

  test('of syntax is told without the rest of the statement', () => {
    expect(
      tell(
        'Syntax error: failed at position 40 (bar) (line 3, col 1): bar)\nFORMAT X. Expected one of: Comma, FROM.',
      ),
    ).toBe('Syntax error at "bar". Expected one of: Comma, FROM.')
  })

  test('of the end is told without the word that follows there, and without a list of all that could', () => {
    const error = invalidQuery(
      `Syntax error: failed at position 40 ()) (line 2, col 1): ). Expected one of: ${'token, '.repeat(40)}end.`,
      { line: 3, column: 1 },
    )
    const told = retold(error, ({ line, column }) =>
      authorPosition(editSql('SELECT 1 +', []), { line: line - 1, column }),
    )
    expect(told).toMatchObject({
      message: 'Syntax error at the end of the query.',
      details: { line: 1, column: 11 },
    })
  })

  test('of names is told without the scope, which is the whole statement', () => {
    expect(tell("Unknown identifier `x` in scope WITH 'secret' AS a SELECT x. Maybe you meant: ['y'].")).toBe(
      "Unknown identifier `x`. Maybe you meant: ['y'].",
    )
    expect(tell("There is no b: In scope SELECT 'secret'")).toBe('There is no b.')
  })

  test('of a value is told without the steps of the engine', () => {
    expect(tell("Division by zero: while executing 'FUNCTION intDiv(__table1.x)'.")).toBe('Division by zero.')
  })

  test('of other things stays as it is', () => {
    const error = engineUnavailable('The engine stopped the query.')
    expect(retold(error, () => undefined)).toBe(error)
  })
})
