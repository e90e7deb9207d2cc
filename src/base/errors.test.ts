import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  callerRefused,
  engineUnavailable,
  internal,
  invalidParameter,
  invalidQuery,
  listErrors,
  methodNotAllowed,
  outOfMemory,
  overloaded,
  queryRefused,
  WellheadError,
} from './errors.ts'

describe('docs/errors.md', () => {
  const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')
  const rows = page
    .split('\n')
    .filter((line) => /^\| `[^`]+` +\|/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, code, status, when]) => ({ code: code?.replaceAll('`', ''), status: Number(status), when }))

  test('every error has a row with its code and status, and no row is without an error', () => {
    const byCode = (a: { code: string | undefined }, b: { code: string | undefined }) =>
      String(a.code).localeCompare(String(b.code))
    const expected = listErrors().map((error) => ({ ...error, when: expect.stringMatching(/\w.*\.$/) }))
    expect(rows.toSorted(byCode)).toEqual(expected.toSorted(byCode))
  })

  test('the rows go from the lowest status to the highest', () => {
    const statuses = rows.map((row) => row.status)
    expect(statuses).toEqual(statuses.toSorted((a, b) => a - b))
  })
})

describe('the catalogue', () => {
  test('has one entry for each code, and codes are small letters and underscores', () => {
    const codes = listErrors().map((error) => error.code)
    expect(new Set(codes).size).toBe(codes.length)
    for (const code of codes) expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/)
  })

  test('has only statuses that tell of a failure', () => {
    for (const { status } of listErrors()) {
      expect(status).toBeGreaterThanOrEqual(400)
      expect(status).toBeLessThan(600)
    }
  })

  test('an error carries its code, status, sentence and details', () => {
    const error = invalidParameter('interval', 'interval must be one of hourly, daily.')
    expect(error).toBeInstanceOf(WellheadError)
    expect(error).toMatchObject({
      name: 'WellheadError',
      code: 'invalid_parameter',
      status: 400,
      message: 'interval must be one of hourly, daily.',
      details: { parameter: 'interval' },
      retryAfterSeconds: undefined,
    })
    expect(methodNotAllowed('PUT', ['GET', 'HEAD'])).toMatchObject({
      message: 'PUT is not allowed here; allowed: GET, HEAD.',
      details: { allowed: ['GET', 'HEAD'] },
    })
  })

  test('an error in SQL has a position only where there is one', () => {
    expect(invalidQuery('Syntax error').details).toEqual({})
    expect(invalidQuery('Syntax error', { line: 2, column: 7 }).details).toEqual({ line: 2, column: 7 })
  })

  test('whoever should come back is told when', () => {
    expect(overloaded('Busy.').retryAfterSeconds).toBe(1)
    expect(outOfMemory().retryAfterSeconds).toBe(1)
    expect(engineUnavailable('Away.').retryAfterSeconds).toBe(1)
    expect(queryRefused(42).retryAfterSeconds).toBe(42)
    expect(callerRefused(42)).toMatchObject({
      status: 429,
      retryAfterSeconds: 42,
      // Also for a mere suspicion, so it claims no cause.
      message: 'The engine stopped while your queries were running. Further ones are refused for 42 s.',
    })
  })

  test('an inner error keeps its cause for the log and says nothing of it', () => {
    const cause = new Error('password=hush')
    const error = internal(cause)
    expect(error.cause).toBe(cause)
    expect(error.message).not.toContain('hush')
  })

  test('an error is recognized by its code, and nothing else is', () => {
    expect(overloaded.is(overloaded('Busy.'))).toBe(true)
    expect(overloaded.is(internal())).toBe(false)
    expect(overloaded.is(new Error('overloaded'))).toBe(false)
    expect(overloaded.is(undefined)).toBe(false)
  })
})
