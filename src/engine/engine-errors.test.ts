import { inspect } from 'node:util'
import { ClickHouseError } from '@clickhouse/client'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { engineCodeOf, toWellheadError, withPlace } from './engine-errors.ts'

const cut = (sql: string, word: string) =>
  `Syntax error: failed at position ${Buffer.byteLength(sql.slice(0, sql.indexOf(word))) + 1}`

describe('withPlace', () => {
  test('gives back the word and the place that the client cut off', () => {
    const sql = "SELECT 'ä', 1 AS n\nFRM edge_logs"
    expect(withPlace(cut(sql, 'FRM'), sql)).toMatch(/\(FRM\) \(line 2, col 1\)$/)
    // Columns are counted in bytes, as the engine does.
    expect(withPlace(cut("SELECT 'ä' AS n FRM x", 'FRM'), "SELECT 'ä' AS n FRM x")).toMatch(
      /\(line 1, col 18\)$/,
    )
  })

  test('leaves whole messages as they are, and ones whose statement is not known', () => {
    const whole = 'Syntax error: failed at position 43 (x) (line 2, col 15): x. Expected FROM.'
    expect(withPlace(whole, 'SELECT 1')).toBe(whole)
    expect(withPlace('Syntax error: failed at position 3', undefined)).toBe(
      'Syntax error: failed at position 3',
    )
  })
})

describe('the cause of an error', () => {
  test.each([
    [
      '241',
      "Memory limit (for query) exceeded: would use 1.01 GiB, maximum: 1.00 GiB.: while executing 'FUNCTION repeat(_CAST('SECRET'_String, 'String'_String) :: 1)'",
      'Memory limit (for query) exceeded: would use 1.01 GiB, maximum: 1.00 GiB',
    ],
    [
      '1001',
      "std::exception: bad text 'it\\'s SECRET: While processing SECRET",
      "std::exception: bad text '…'",
    ],
    ['394', 'Query was cancelled: In scope SELECT SECRET', 'Query was cancelled'],
    ['394', 'Query was cancelled (in query: SELECT SECRET)', 'Query was cancelled'],
    [
      '6',
      "Cannot parse string 'SECRET' as UInt8: syntax error",
      "Cannot parse string '…' as UInt8: syntax error",
    ],
  ])('%s is told in the log without values of the call', (code, message, told) => {
    const type = 'AN_ERROR'
    const error = toWellheadError(new ClickHouseError({ message, code, type }), {
      deadlineMs: 1,
      ended: 'by-engine',
    })
    expect(error.cause).toMatchObject({ message: told, type })
    expect(engineCodeOf(error)).toBe(Number(code))
    const lines: string[] = []
    const log = pino({}, { write: (line) => void lines.push(line) })
    log.error({ err: error.cause })
    expect(lines.join('')).toContain(JSON.stringify(told).slice(1, -1))
    expect(lines.join('') + inspect(error.cause)).not.toContain('SECRET')
  })
})
