import { inspect } from 'node:util'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { ClickHouseError } from './clickhouse-http.ts'
import {
  engineCodeOf,
  isDiskTrouble,
  isNodeTrouble,
  isUnreadableRow,
  toWellheadError,
} from './engine-errors.ts'
import { rowTooLarge } from './json-rows.ts'

const convert = (code: number, message = 'Cannot read.', type = 'AN_ERROR') =>
  toWellheadError(new ClickHouseError({ message, code, type }), { deadlineMs: 1000, ended: 'by-engine' })

test.each([
  // An invalid escape, an invalid number, and nesting that is too deep.
  [true, [25, 72, 306]],
  [false, [60, 241, 243]],
])('an unreadable row is the cause: %s for codes %j', (expected, codes) => {
  expect(codes.map((code) => isUnreadableRow(convert(code)))).toEqual(codes.map(() => expected))
})

test.each([
  [
    241,
    "Memory limit (for query) exceeded: would use 1.01 GiB, maximum: 1.00 GiB.: while executing 'FUNCTION repeat(_CAST('SECRET'_String, 'String'_String) :: 1)'",
    'Memory limit (for query) exceeded: would use 1.01 GiB, maximum: 1.00 GiB',
  ],
  [1001, "std::exception: bad text 'it\\'s SECRET: While processing SECRET", "std::exception: bad text '…'"],
  [394, 'Query was cancelled: In scope SELECT SECRET', 'Query was cancelled'],
  [394, 'Query was cancelled (in query: SELECT SECRET)', 'Query was cancelled'],
  [
    6,
    "Cannot parse string 'SECRET' as UInt8: syntax error",
    "Cannot parse string '…' as UInt8: syntax error",
  ],
])('error %d is logged without values of the query', (code, message, logged) => {
  const error = convert(code, message)
  expect(error.cause).toMatchObject({ message: logged, type: 'AN_ERROR' })
  expect(engineCodeOf(error)).toBe(code)
  const lines: string[] = []
  pino({}, { write: (line) => void lines.push(line) }).error({ err: error.cause })
  expect(lines.join('')).toContain(JSON.stringify(logged).slice(1, -1))
  expect(lines.join('') + inspect(error.cause)).not.toContain('SECRET')
})

test.each([
  [158, 'Limit for rows (controlled by max_rows_to_read setting) exceeded, max rows: 10, current rows: 2003'],
  [160, 'Estimated query execution time (9.1 seconds) is too long. Estimated rows to process: 2003'],
  [307, 'Limit for bytes exceeded, max bytes: 10, current bytes: 2003'],
])('read limit %d does not reveal how much was read', (code, message) => {
  const error = convert(code, message)
  expect([error.code, error.message]).toEqual(['too_large', expect.not.stringMatching(/2003/)])
})

const numbered = 'errno: 24, strerror: Too many open files'
test.each([
  ['CANNOT_WRITE_TO_FILE_DESCRIPTOR', 'Cannot write: errno: 28, No space left on device', 507, 'disk_full'],
  ['STD_EXCEPTION', 'filesystem error: Read-only file system [/data]', 503, 'engine_unavailable'],
  ['CANNOT_OPEN_FILE', 'Cannot open file x: errno: 24, Too many open files', 503, 'engine_unavailable'],
  ['CANNOT_PIPE', `Cannot create pipe: , ${numbered}`, 503, 'engine_unavailable'],
  ['EPOLL_ERROR', `Cannot open epoll descriptor: , ${numbered}`, 503, 'engine_unavailable'],
  ['PATH_ACCESS_DENIED', '/data/: , errno: 30, strerror: Read-only file system', 503, 'engine_unavailable'],
  ['CANNOT_FSYNC', 'Cannot fsync x: errno: 5, Input/output error', 503, 'engine_unavailable'],
  ['STD_EXCEPTION', 'EIO: i/o error, fdatasync', 503, 'engine_unavailable'],
  ['CANNOT_CREATE_DIRECTORY', 'An unknown message', 503, 'engine_unavailable'],
])('%s with "%s" is an error of the disk', (type, message, status, code) => {
  const error = convert(75, message, type)
  expect(error).toMatchObject({ status, code })
  // A full disk has an error of its own.
  if (status === 503) expect(isDiskTrouble(error)).toBe(true)
})

const forged = 'x, errno: 28, strerror: No space left on device'
test.each([
  [75, 'FUNCTION_THROW_IF_VALUE_IS_NON_ZERO', 'No space left on device'],
  [75, 'FUNCTION_THROW_IF_VALUE_IS_NON_ZERO', forged],
  [27, 'CANNOT_PARSE_INPUT_ASSERTION_FAILED', forged],
])('error %d of type %s is not an error of the disk: it quotes "%s"', (code, type, message) => {
  const error = convert(code, message, type)
  expect(error).toMatchObject({ code: 'invalid_query' })
  expect(isDiskTrouble(error)).toBe(false)
})

test('an error of the connection is not an error of the disk', () => {
  const error = toWellheadError(new Error('gone'), { deadlineMs: 1, ended: 'by-engine' })
  expect(isDiskTrouble(error)).toBe(false)
})

test.each([
  [32, 'Attempt to read after eof: while receiving packet from ch-2:9000', 'engine_unavailable', true],
  [32, "Attempt to read after eof: Cannot parse UInt8 from ''", 'invalid_query', false],
  [202, 'Too many simultaneous queries.', 'overloaded', true],
  [252, 'Too many parts.', 'overloaded', false],
  [241, '(total) memory limit exceeded: would use 608.58 MiB.', 'overloaded', false],
  [241, 'Query memory limit exceeded: would use 320.97 MiB.', 'too_large', false],
  [395, `${rowTooLarge}: while executing 'FUNCTION throwIf(greater(byteSize(x)))'`, 'too_large', false],
  [395, "Value passed to 'throwIf' function is non-zero", 'invalid_query', false],
  [242, 'Table is in readonly mode.', 'engine_unavailable', true],
  [285, 'Number of alive replicas is less than requested quorum.', 'engine_unavailable', false],
  [289, 'Replica does not have a part which was written with quorum.', 'engine_unavailable', true],
  [319, 'Unknown status of insert.', 'engine_unavailable', true],
  [394, 'Query was cancelled.', 'engine_unavailable', false],
  [60, 'Table does not exist.', 'invalid_query', false],
])(
  'error %d "%s" becomes %s, and another node may serve the request: %s',
  (code, message, made, elsewhere) => {
    const error = convert(code, message)
    expect([error.code, isNodeTrouble(error)]).toEqual([made, elsewhere])
    expect(error.message).not.toContain('ch-2')
  },
)
