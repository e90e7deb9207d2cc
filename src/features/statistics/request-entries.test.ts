import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { callRecord } from '../../../test/support/call-records.ts'
import { log } from '../../../test/support/engines.ts'
import { manualClock, manualTime } from '../../../test/support/manual-clock.ts'
import { cacheUses, type RequestRecord } from '../../core/http/request-record.ts'
import { RequestStatistics } from './request-statistics.ts'

const wallMs = Date.UTC(2026, 0, 1)

async function entriesOf(records: readonly RequestRecord[]) {
  let stored = ''
  const time = manualTime(manualClock(wallMs))
  const statistics = new RequestStatistics({
    store: async (lines) => {
      stored += lines
    },
    time,
    maxEntries: 10_000,
    log,
  })
  for (const record of records) statistics.add(record)
  await statistics.stop()
  const lines = stored.trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line))
}

describe('entries of requests', () => {
  test('have all fields of the record', async () => {
    const [entry] = await entriesOf([
      callRecord({ status: 504, cache: 'none', totalMs: 1000.12345, engineMs: 12, code: 'query_timeout' }),
    ])
    expect(entry).toEqual({
      project: 'blue',
      id: expect.stringMatching(/^[\da-f-]{36}$/),
      timestamp: '1767225600.000000',
      event_message: 'GET logs.all 504',
      metadata: {
        endpoint: 'logs.all',
        endpoint_id: callRecord().endpointId,
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
        request_id: 'a-request',
      },
    })
  })

  test('up to 500 requests have an entry each; beyond that, equal requests share one', async () => {
    const equal = (count: number) => Array.from({ length: count }, () => callRecord())
    expect(await entriesOf(equal(500))).toHaveLength(500)
    const [shared, ...more] = await entriesOf(equal(501))
    expect(more).toEqual([])
    expect(shared.metadata).toMatchObject({ calls: 501, rows: 1002, bytes: 50_100 })
  })

  test('keep all requests, rows, bytes and the total duration', async () => {
    const call = fc.record({
      status: fc.constantFrom(200, 304, 400, 404, 503),
      cache: fc.constantFrom(...cacheUses),
      code: fc.constantFrom('', 'internal'),
      totalMs: fc.double({ min: 0.001, max: 100_000, noNaN: true }),
      engineMs: fc.constantFrom(0, 0, 0, 5),
      bytes: fc.nat(1000),
      rows: fc.nat(10),
      tokenId: fc.constantFrom('a-token', 'another'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 501, maxLength: 700 }), async (fields) => {
        const calls = fields.map((one) => callRecord(one))
        const entries = (await entriesOf(calls)).map(({ metadata }) => metadata)
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
        expect(Math.abs(spent / really - 1)).toBeLessThan(0.001)
      }),
      { numRuns: 30 },
    )
  })
})
