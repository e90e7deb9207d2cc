import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { features } from '../../features.ts'
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

const errorCodes = listErrors(features.flatMap(({ errors = [] }) => errors))

describe('docs/reference/errors.md', () => {
  const page = readFileSync(new URL('../../../docs/reference/errors.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^- `([^`]+)` \((\d+)\): (.+)$/gm)].map(([, code, status, when]) => ({
    code,
    status: Number(status),
    when,
  }))

  test('lists every error with its code and status, and no other', () => {
    const byCode = (a: { code: string | undefined }, b: { code: string | undefined }) =>
      String(a.code).localeCompare(String(b.code))
    const expected = errorCodes.map(({ code, status }) => ({
      code,
      status,
      when: expect.stringMatching(/\w.*\.$/),
    }))
    expect(rows.toSorted(byCode)).toEqual(expected.toSorted(byCode))
  })

  test('is sorted by status', () => {
    const statuses = rows.map((row) => row.status)
    expect(statuses).toEqual(statuses.toSorted((a, b) => a - b))
  })
})

describe('the catalog', () => {
  test('has unique codes of lowercase letters and underscores', () => {
    const codes = errorCodes.map((error) => error.code)
    expect(new Set(codes).size).toBe(codes.length)
    for (const code of codes) expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/)
  })

  test('has only statuses of failures', () => {
    for (const { status } of errorCodes) {
      expect(status).toBeGreaterThanOrEqual(400)
      expect(status).toBeLessThan(600)
    }
  })

  test('an error has a code, status, message and details', () => {
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
      message: 'This path does not support PUT. Use one of GET, HEAD.',
      details: { allowed: ['GET', 'HEAD'] },
    })
  })

  test('an error in SQL has a position only if the engine reports one', () => {
    expect(invalidQuery('Syntax error').details).toEqual({})
    expect(invalidQuery('Syntax error', { line: 2, column: 7 }).details).toEqual({ line: 2, column: 7 })
  })

  test('errors that pass have a time to retry', () => {
    expect(overloaded('Busy.').retryAfterSeconds).toBe(1)
    expect(outOfMemory().retryAfterSeconds).toBe(1)
    expect(engineUnavailable('Away.').retryAfterSeconds).toBe(1)
    expect(queryRefused(42).retryAfterSeconds).toBe(42)
    expect(callerRefused(42)).toMatchObject({
      status: 429,
      retryAfterSeconds: 42,
      // The cause is only suspected, so the message names none.
      message: 'The engine stopped while your queries were running. Further queries are refused for 42 s.',
    })
  })

  test('an internal error keeps its cause for the log and does not show it', () => {
    const cause = new Error('password=hush')
    const error = internal(cause)
    expect(error.cause).toBe(cause)
    expect(error.message).not.toContain('hush')
  })

  test('an error is recognized by its code alone', () => {
    expect(overloaded.is(overloaded('Busy.'))).toBe(true)
    expect(overloaded.is(internal())).toBe(false)
    expect(overloaded.is(new Error('overloaded'))).toBe(false)
    expect(overloaded.is(undefined)).toBe(false)
  })
})
