import { describe, expect, test } from 'vitest'
import { maxCallerBytes, maxCallerTokens } from '../../sql/check.ts'
import { sandboxViews } from './endpoint.ts'
import { readSandboxed } from './sandbox.ts'

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
    const { sql, tokens } = readSandboxed("SELECT ';' ; ;-- x\n/* y */")
    expect([sql, tokens.map((token) => token.text)]).toEqual(["SELECT ';'", ['SELECT', "';'"]])
  })

  test.each([
    ['SELECT @project', '@project', 8],
    ['SELECT\n@now', '@now', 1],
  ])('%j cannot use parameters of the endpoint', (sql, name, column) => {
    expect(() => readSandboxed(sql)).toThrow(
      expect.objectContaining({
        message: expect.stringContaining(name),
        details: expect.objectContaining({ column }),
      }),
    )
  })

  test('has a maximum length', () => {
    const sql = `SELECT '${'ü'.repeat(maxCallerBytes / 2)}'`
    expect(() => readSandboxed(sql)).toThrow('at most 65536 bytes')
  })

  test('has a maximum number of tokens', () => {
    const list = (numbers: number) => `SELECT 1 IN (${'1,'.repeat(numbers - 1)}1)`
    const most = (maxCallerTokens - 4) / 2
    expect(readSandboxed(list(most)).tokens).toHaveLength(maxCallerTokens)
    expect(() => readSandboxed(list(most + 1))).toThrow('at most 20000 words, values and symbols')
  })

  test.each(['', ';', 'SELECT 1; SELECT 2', 'DROP TABLE edge_logs', 'SELECT 1) UNION ALL (SELECT 2'])(
    '%j is refused',
    (sql) => expect(() => readSandboxed(sql)).toThrow(expect.objectContaining({ code: 'invalid_query' })),
  )
})
