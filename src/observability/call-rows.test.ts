import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { callRecord, subject } from '../../test/support/call-records.ts'
import { CallPage } from './call-page.ts'
import { type CallRecord, cacheUses } from './call-record.ts'
import { callLines } from './call-rows.ts'

const wallMs = Date.UTC(2026, 0, 1)

function entriesOf(calls: readonly CallRecord[]) {
  const page = new CallPage(Math.max(1, calls.length))
  for (const call of calls) expect(page.add(call)).toBe(true)
  return callLines(page, (ms) => wallMs + ms).map((line) => JSON.parse(line))
}

describe('entries of calls', () => {
  test('a call is an entry with everything that is known of it', () => {
    const [entry] = entriesOf([
      callRecord({ status: 504, cache: 'none', totalMs: 1000.12345, engineMs: 12, code: 'query_timeout' }),
    ])
    expect(entry).toEqual({
      project: 'blue',
      id: expect.stringMatching(/^[\da-f-]{36}$/),
      timestamp: '1767225601.000000',
      event_message: 'GET logs.all 504',
      metadata: {
        endpoint: 'logs.all',
        endpoint_id: subject.endpointId,
        version: 3,
        token_id: 'a-token',
        method: 'GET',
        status: 504,
        cache: 'none',
        calls: 1,
        rows: 2,
        bytes: 100,
        engine_ms: 12,
        total_ms: 1000.123,
        format: 'json',
        code: 'query_timeout',
      },
    })
  })

  test('up to five hundred calls have an entry each; of more, those that are alike share one', () => {
    const alike = (count: number) => Array.from({ length: count }, () => callRecord())
    expect(entriesOf(alike(500))).toHaveLength(500)
    const [shared, ...more] = entriesOf(alike(501))
    expect(more).toEqual([])
    expect(shared.metadata).toMatchObject({ calls: 501, rows: 1002, bytes: 50_100 })
  })

  test('whatever came, all calls, rows and bytes are in the entries, and no duration is off by more than 3 %', () => {
    const call = fc.record({
      status: fc.constantFrom(200, 304, 400, 404, 503),
      cache: fc.constantFrom(...cacheUses),
      code: fc.constantFrom('', 'internal'),
      totalMs: fc.double({ min: 0.001, max: 100_000, noNaN: true }),
      engineMs: fc.constantFrom(0, 0, 0, 5),
      bytes: fc.nat(1000),
      rows: fc.nat(10),
      subject: fc.constantFrom(subject, { ...subject, tokenId: 'another' }),
    })
    fc.assert(
      fc.property(fc.array(call, { minLength: 501, maxLength: 700 }), (given) => {
        const calls = given.map((fields) => callRecord(fields))
        const entries = entriesOf(calls).map(({ metadata }) => metadata)
        const sum = (field: string) => entries.reduce((total, entry) => total + entry[field], 0)
        expect(sum('calls')).toBe(calls.length)
        expect(sum('bytes')).toBe(calls.reduce((total, { bytes }) => total + bytes, 0))
        expect(sum('rows')).toBe(calls.reduce((total, { rows }) => total + rows, 0))
        const failed = entries.filter(({ status }) => status >= 400)
        expect(failed.reduce((total, { calls: n }) => total + n, 0)).toBe(
          calls.filter(({ status }) => status >= 400).length,
        )
        const spent = entries.reduce((total, { calls: n, total_ms }) => total + n * total_ms, 0)
        const really = calls.reduce((total, { totalMs }) => total + totalMs, 0)
        expect(Math.abs(spent / really - 1)).toBeLessThan(0.03)
      }),
      { numRuns: 30 },
    )
  })

  test('a page that is full takes no more, and an empty one lets go of what was in it', () => {
    const page = new CallPage(1)
    expect([page.add(callRecord()), page.add(callRecord())]).toEqual([true, false])
    page.clear()
    expect([page.length, page.subject(0)]).toEqual([0, undefined])
  })
})
