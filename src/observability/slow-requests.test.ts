import { describe, expect, test } from 'vitest'
import { callRecord, subject } from '../../test/support/call-records.ts'
import { manualClock } from '../../test/support/manual-clock.ts'
import type { QueryPlan } from '../engine/engine.ts'
import type { RequestRecord } from './request-record.ts'
import { SlowRequests, withoutValues } from './slow-requests.ts'

const plan: QueryPlan = { plan: 'ReadFromMergeTree (wellhead.edge_logs)', reads: [] }

function open(busy = false) {
  const clock = manualClock()
  const slow = new SlowRequests({ clock, busy: () => busy, maxEndpoints: 2 })
  const take = (...calls: Partial<RequestRecord>[]) => {
    const records = calls.map((fields) => callRecord({ cache: 'miss', engineMs: 1, ...fields }))
    slow.take(records, () => clock.now())
  }
  const durations = () => slow.of(subject.endpointId).map(({ duration_ms }) => duration_ms)
  return { clock, slow, take, durations }
}

const detail = { requestId: 'r' }

describe('slow requests', () => {
  test('keeps the twenty slowest and the last twenty failed, for an hour', () => {
    const { clock, slow, take, durations } = open()
    take(...Array.from({ length: 30 }, (_, i) => ({ totalMs: i + 1, detail })))
    expect(durations()).toEqual(Array.from({ length: 20 }, (_, i) => 30 - i))
    take(
      ...Array.from({ length: 25 }, (_, i) => ({ totalMs: 100 + i, status: 500, code: 'internal', detail })),
    )
    expect(slow.of(subject.endpointId).filter(({ code }) => code === 'internal')).toHaveLength(20)
    expect(durations().filter((ms) => ms >= 100 && ms < 105)).toEqual([])
    clock.advance(3_600_001)
    expect(durations()).toEqual([])
  })

  test('keeps failed requests apart from refused ones', () => {
    const { slow, take } = open()
    take(
      { status: 504, code: 'query_timeout', detail },
      { status: 499, code: 'query_cancelled', detail },
      ...Array.from({ length: 50 }, () => ({ status: 400, code: 'invalid_parameter', engineMs: 0, detail })),
    )
    const codes = slow.of(subject.endpointId).map(({ code }) => code)
    expect(codes).toHaveLength(22)
    expect(codes).toEqual(expect.arrayContaining(['query_timeout', 'query_cancelled']))
  })

  test('ignores cache hits and records without a request id', () => {
    const { durations, take } = open()
    take({ cache: 'hit', engineMs: 0, detail: undefined }, { cache: 'joined', engineMs: 0, detail })
    expect(durations()).toEqual([])
  })

  test('keeps a limited number of endpoints, the latest ones', () => {
    const { slow, take } = open()
    for (const endpointId of ['a', 'b', 'a', 'c']) take({ detail, subject: { ...subject, endpointId } })
    expect(['a', 'b', 'c'].map((id) => slow.of(id).length)).toEqual([2, 0, 1])
  })

  test('reads the plan of a slow request once a minute for an endpoint, and not while queries wait', async () => {
    let plans = 0
    const explain = async () => {
      plans++
      return plan
    }
    const { clock, slow, take } = open()
    take({ totalMs: 10, detail: { ...detail, explain } })
    // SQL that was stopped, or that stopped the engine, must not run again.
    for (const status of [413, 499, 500, 503, 504]) {
      take({ totalMs: 600, status, detail: { ...detail, explain }, subject: { ...subject, endpointId: 'x' } })
    }
    expect(plans).toBe(0)
    take({ totalMs: 600, detail: { ...detail, explain } }, { totalMs: 700, detail: { ...detail, explain } })
    await slow.settled()
    expect(plans).toBe(1)
    expect(slow.of(subject.endpointId).map((call) => call.plan)).toEqual([plan, null, null])
    clock.advance(60_000)
    take({ totalMs: 800, detail: { ...detail, explain } })
    await slow.settled()
    expect(plans).toBe(2)
    open(true).take({ totalMs: 800, detail: { ...detail, explain } })
    expect(plans).toBe(2)
  })

  test('has no plan if the engine gives none', async () => {
    const { slow, take } = open()
    const explain = () => Promise.reject(new Error('away'))
    take({ totalMs: 600, detail: { ...detail, explain } })
    await slow.settled()
    expect(slow.of(subject.endpointId)[0]?.plan).toBeNull()
  })

  test('never reads the plan of a request that failed, because it may have reached a limit', async () => {
    const { slow, take } = open()
    const explain = async () => plan
    take({ totalMs: 600, status: 504, code: 'query_timeout', detail: { ...detail, explain } })
    await slow.settled()
    expect(slow.of(subject.endpointId)[0]?.plan).toBeNull()
  })
})

describe('withoutValues', () => {
  test('keeps steps, tables and counts, and removes conditions', () => {
    const text = `Output: id, if(event_message = 'SECRET', 1, 1234)

Limit (preliminary LIMIT)
│  Limit 1234
└──CreatingSets (Create sets before main query execution)
   ├──Sorting (Sorting for ORDER BY)
   │  │  Sort description: '2026-11-14' + toIntervalSecond(1234) ASC
   │  └──Join (JOIN FillRightFirst)
   │     │  Type: left | Strictness: all | Algorithm: SpillingHashJoin(ConcurrentHashJoin)
   │     │  Join conditions: id = 'SECRET'
   │     ├──ReadFromMergeTree (wellhead.edge_logs2)
   │     │     Read type: InReverseOrder
   │     │     Parts: 0 | Granules: 0
   │     │     Prewhere filter column:  project = 'SECRET'
   │     │     Indexes:
   │     │       Min-Max
   │     │         Keys:
   │     │           toDate(timestamp)
   │     │         Condition: (toDate(timestamp) in [1234, +Inf))
   │     │         Parts: 1/1
   │     │       PrimaryKey
   │     │         Keys:
   │     │           project
   │     │         Condition: (project in ['SECRET', 'SECRET'])
   │     │         Granules: 0/1
   │     │         Search Algorithm: binary search
   │     │       Skip
   │     │         Name: request_url_ngrams
   │     │         Description: ngrambf_v1 GRANULARITY 1
   │     │       Ranges: 0
   └──Filter ((WHERE + Change column names to column identifiers))
      │  Filter column: event_message LIKE 'SECRET'
      └──ReadFromSystemNumbers
            Output: number`
    const kept = withoutValues(text)
    expect(kept).not.toMatch(/SECRET|1234|Condition|column:/)
    for (const step of [
      'ReadFromMergeTree (wellhead.edge_logs2)',
      '──ReadFromSystemNumbers',
      '  project\n',
    ]) {
      expect(kept).toContain(step)
    }
    const dropped = /Output|^$|Limit 1234|description|conditions|column:|Condition/
    expect(kept.split('\n')).toEqual(text.split('\n').filter((line) => !dropped.test(line)))
  })
})
