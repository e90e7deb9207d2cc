import { describe, expect, test } from 'vitest'
import { maxSandboxBytes, sandboxText, sandboxViews } from './sandbox.ts'

describe('the query of a sandbox', () => {
  test.each([
    'WITH a AS (SELECT 1) SELECT * FROM a',
    '-- views\nWITH RECURSIVE 1 AS one, a AS (SELECT 1) SELECT * FROM a',
  ])('%j has views', (query) => expect(() => sandboxViews(query)).not.toThrow())

  test.each([
    'SELECT 1',
    'WITH 1 AS one SELECT one',
    'WITH (SELECT 1) AS one SELECT one',
    'WITH `ä` AS (SELECT 1) SELECT * FROM `ä`',
    '(WITH a AS (SELECT 1) SELECT * FROM a)',
    'SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a)',
  ])('%j has none', (query) => {
    expect(() => sandboxViews(query)).toThrow('must start with the views')
  })
})

describe('the text of a caller', () => {
  test('is cut before semicolons and comments at its end', () => {
    expect(sandboxText("SELECT ';' ; ;-- x\n/* y */")).toBe("SELECT ';'")
  })

  test.each([
    ['SELECT @project', '@project', 8],
    ['SELECT\n@now', '@now', 1],
  ])('%j cannot use parameters of the endpoint', (sql, name, column) => {
    expect(() => sandboxText(sql)).toThrow(
      expect.objectContaining({
        message: expect.stringContaining(name),
        details: expect.objectContaining({ column }),
      }),
    )
  })

  test('has a maximum length', () => {
    const sql = `SELECT '${'ü'.repeat(maxSandboxBytes / 2)}'`
    expect(() => sandboxText(sql)).toThrow('at most')
  })

  test.each(['', ';', 'SELECT 1; SELECT 2', 'DROP TABLE edge_logs', 'SELECT 1) UNION ALL (SELECT 2'])(
    '%j is refused',
    (sql) => expect(() => sandboxText(sql)).toThrow(expect.objectContaining({ code: 'invalid_query' })),
  )
})
