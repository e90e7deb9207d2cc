import { inspect } from 'node:util'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { ClickHouseError } from './clickhouse-error.ts'
import { engineCodeOf, isDiskTrouble, isUnreadableRow, toWellheadError } from './engine-errors.ts'

test('an insert that is refused for the text of a row is told from all others', () => {
  const refused = (code: number) =>
    isUnreadableRow(
      toWellheadError(new ClickHouseError({ message: 'Cannot read.', code, type: 'AN_ERROR' }), {
        deadlineMs: 1,
        ended: 'by-engine',
      }),
    )
  // An escape that stands for no character, a number that is none, and nesting that is too deep.
  expect([25, 72, 306].map(refused)).toEqual([true, true, true])
  expect([60, 241, 243].map(refused)).toEqual([false, false, false])
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
    const error = toWellheadError(new ClickHouseError({ message, code: Number(code), type }), {
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

describe('a limit on what is read', () => {
  test.each([
    [
      158,
      'Limit for rows (controlled by max_rows_to_read setting) exceeded, max rows: 10, current rows: 2003',
    ],
    [160, 'Estimated query execution time (9.1 seconds) is too long. Estimated rows to process: 2003'],
    [307, 'Limit for bytes exceeded, max bytes: 10, current bytes: 2003'],
  ])('does not reveal how much was read: %s', (code, message) => {
    const error = new ClickHouseError({ message, code, type: 'TOO_MANY' })
    const told = toWellheadError(error, { deadlineMs: 1, ended: 'by-engine' })
    expect([told.code, told.message]).toEqual(['too_large', expect.not.stringMatching(/2003/)])
  })
})

describe('what the system says of the disk', () => {
  const said = (type: string, message: string) =>
    toWellheadError(new ClickHouseError({ code: 75, type, message }), {
      deadlineMs: 1000,
      ended: 'by-engine',
    })

  test.each([
    ['CANNOT_WRITE_TO_FILE_DESCRIPTOR', 'Cannot write: errno: 28, No space left on device', 507, 'disk_full'],
    ['STD_EXCEPTION', 'filesystem error: Read-only file system [/data]', 503, 'engine_unavailable'],
    ['CANNOT_OPEN_FILE', 'Cannot open file x: errno: 24, Too many open files', 503, 'engine_unavailable'],
    [
      'CANNOT_PIPE',
      'Cannot create pipe: , errno: 24, strerror: Too many open files',
      503,
      'engine_unavailable',
    ],
    [
      'EPOLL_ERROR',
      'Cannot open epoll descriptor: , errno: 24, strerror: Too many open files',
      503,
      'engine_unavailable',
    ],
    [
      'PATH_ACCESS_DENIED',
      'Cannot set modification time to file: /data/: , errno: 30, strerror: Read-only file system',
      503,
      'engine_unavailable',
    ],
    ['CANNOT_FSYNC', 'Cannot fsync x: errno: 5, Input/output error', 503, 'engine_unavailable'],
    ['STD_EXCEPTION', 'EIO: i/o error, fdatasync', 503, 'engine_unavailable'],
    ['CANNOT_CREATE_DIRECTORY', 'Something that nobody has seen yet', 503, 'engine_unavailable'],
  ])('is no mistake in SQL: %s, %s', (type, message, status, code) => {
    expect(said(type, message)).toMatchObject({ status, code })
  })

  test('is not looked for in what a query says', () => {
    for (const words of ['No space left on device', 'x, errno: 28, strerror: No space left on device']) {
      const thrown = said('FUNCTION_THROW_IF_VALUE_IS_NON_ZERO', words)
      expect(thrown).toMatchObject({ code: 'invalid_query' })
    }
    const words = 'x, errno: 28, strerror: No space left on device'
    const row = new ClickHouseError({
      code: 27,
      type: 'CANNOT_PARSE_INPUT_ASSERTION_FAILED',
      message: words,
    })
    expect(isDiskTrouble(toWellheadError(row, { deadlineMs: 1, ended: 'by-engine' }))).toBe(false)
  })

  test('is not cured by trying again at once', () => {
    expect(isDiskTrouble(said('CANNOT_FSYNC', 'errno: 5, Input/output error'))).toBe(true)
    expect(isDiskTrouble(toWellheadError(new Error('gone'), { deadlineMs: 1, ended: 'by-engine' }))).toBe(
      false,
    )
  })
})
