import { ClickHouseError } from '@clickhouse/client'
import { expect, test } from 'vitest'
import { toWellheadError } from './engine-errors.ts'

function told(message: string, type: string, sql: string) {
  const error = new ClickHouseError({ message, code: '62', type })
  const known = toWellheadError(error, { deadlineMs: 1000, ended: 'by-engine', sql })
  return { message: known.message, ...known.details }
}

test('a syntax error has the place that the engine told', () => {
  const message = 'Syntax error: failed at position 10 (foo) (line 2, col 1): foo 1. Expected one of: FROM.'
  expect(told(message, 'SYNTAX_ERROR', 'SELECT 1\nfoo 1')).toEqual({ message, line: 2, column: 1 })
})

test('a word in capitals, which the client takes for the name of the error, does not hide the place', () => {
  const sql = "SELECT 'ü'\nFROM t WHER 1"
  const position = Buffer.byteLength("SELECT 'ü'\nFROM t ") + 1
  expect(told(`Syntax error: failed at position ${position} `, 'WHER', sql)).toEqual({
    message: `Syntax error: failed at position ${position} (WHER) (line 2, col 8)`,
    line: 2,
    column: 8,
  })
})
