import { describe, expect, test } from 'vitest'
import { editSql } from './edits.ts'
import { matchesEdits } from './matches.ts'
import { Query } from './query.ts'

const expanded = (sql: string) =>
  editSql(
    sql,
    matchesEdits(new Query(sql), (name) => `{${name.slice(1)}:String}`),
  ).text

describe('matches', () => {
  test('searches the only table of its SELECT, or the one that is named', () => {
    expect(expanded("SELECT id FROM logs WHERE matches('Timeout')")).toMatch(
      /^SELECT id FROM logs WHERE \(replaceAll\(replaceAll\(lowerUTF8\(concat\(logs\.event_message, .* LIKE '%timeout%'\)$/,
    )
    expect(expanded("SELECT id FROM logs AS l WHERE MATCHES('ab')")).toContain(
      '(lowerUTF8(concat(l.event_message,',
    )
    expect(expanded("SELECT 1 FROM (SELECT * FROM logs) WHERE matches('ab')")).toContain(
      '(lowerUTF8(concat(event_message,',
    )
    const joined = "FROM a JOIN b ON a.id = b.id WHERE matches(b, 'ab')"
    expect(expanded(`SELECT 1 ${joined}`)).toContain('(lowerUTF8(concat(b.event_message,')
    const inner = "SELECT (SELECT count() FROM a WHERE matches('ab')) AS n FROM b, c"
    expect(expanded(inner)).toContain('(lowerUTF8(concat(a.event_message,')
  })

  test('searches for the text that was written', () => {
    expect(expanded("SELECT 1 FROM a WHERE matches('it''s \\\\ \\'x\\'')")).toContain("'it\\'s \\\\ \\'x\\''")
    // The engine reads other escapes, without the index.
    expect(expanded("SELECT 1 FROM a WHERE matches('\\x41BCDE')")).toContain("lowerUTF8('\\x41BCDE')")
    expect(expanded('SELECT 1 FROM a WHERE matches(@word)')).toContain('lowerUTF8({word:String})')
    expect(expanded("SELECT matches('ab') FROM a")).toMatch(/^SELECT \(.*\) AS matches FROM a$/)
  })

  test.each([
    [
      "SELECT 1 FROM a, b WHERE matches('x')",
      "one table of FROM. Write its name before the word: matches(a, 'x').",
    ],
    ["SELECT 1 FROM a WHERE matches(b, 'x')", "Write its name before the word: matches(a, 'x')."],
    ["SELECT 1 FROM a ARRAY JOIN [1] AS n WHERE matches('x')", 'one table of FROM.'],
    ["SELECT matches('x')", 'one table of FROM.'],
    ["SELECT 1 FROM a WHERE matches('')", 'needs a word'],
    ['SELECT 1 FROM a WHERE matches()', 'needs a word'],
    ["SELECT 1 FROM a WHERE matches(concat('a', 'b'))", 'needs a word'],
    ["SELECT 1 FROM a WHERE matches('x', 'y')", 'needs a word'],
    ["SELECT 1 FROM a WHERE matches(a, 'x', 'y')", 'needs a word'],
    [`SELECT 1 FROM a WHERE ${Array(51).fill("matches('x')").join(' OR ')}`, 'at most 50 times'],
  ])('refuses %s', (sql, message) => {
    expect(() => expanded(sql)).toThrow(message)
  })

  test('reads a call without its end', () => {
    expect(expanded("SELECT 1 FROM a WHERE matches('ab'")).toMatch(/^SELECT 1 FROM a WHERE \(replaceAll.*\)$/)
  })

  test('leaves other uses of the name alone', () => {
    for (const sql of ['SELECT matches FROM a', 'SELECT count() AS matches FROM a', "SELECT 'matches(1)'"]) {
      expect(expanded(sql)).toBe(sql)
    }
  })
})
