import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { manualClock } from '../../../test/support/manual-clock.ts'
import { Arrivals } from '../../catalog/arrivals.ts'
import type { Part, RunResult } from './endpoint-runner.ts'
import {
  bodyOf,
  IncrementalRefresh,
  type PreviousResult,
  planRefresh,
  rowsOf,
} from './incremental-refresh.ts'

const second = 1_000_000n

describe('a refresh computes', () => {
  const span = { window_seconds: 3600, bucket_seconds: 60 }
  const at = (seconds: number) => BigInt(seconds) * second
  const plan = (before: number, now: number, earliest?: number, wholeBuckets = true, last = before) =>
    planRefresh({
      span,
      wholeBuckets,
      lastMicros: at(last),
      beforeMicros: at(before),
      nowMicros: at(now),
      earliestMicros: earliest === undefined ? undefined : at(earliest),
    })
  const part = (from: number, before: number) => ({
    kept: { fromMicros: at(from), beforeMicros: at(before) },
    range: { beforeMicros: at(from), fromMicros: at(before) },
  })
  const whole = undefined

  test('the open bucket, and the first one if the window starts within it, although no entry arrived', () => {
    expect(plan(7200, 7259)).toEqual(part(3600, 7200))
    expect(plan(7230, 7259, undefined, false)).toEqual(part(3660, 7200))
  })

  test('the newest buckets, and the first one if the window starts within it', () => {
    expect(plan(7230, 7290)).toEqual(part(3660, 7200))
    expect(plan(7230, 7290, undefined, false)).toEqual(part(3720, 7200))
    expect(plan(7230, 7240, 7235)).toEqual(part(3600, 7200))
  })

  test('everything from the bucket of a late entry on', () => {
    expect(plan(7230, 7240, 5000)).toEqual(part(3600, 4980))
    expect(plan(7230, 7240, 3601)).toEqual(whole)
    expect(plan(7230, 7240, 10)).toEqual(whole)
  })

  test('everything from the last bucket on, if the window ended before the previous run', () => {
    expect(plan(7230, 7240, undefined, true, 6960)).toEqual(part(3600, 6960))
    expect(plan(7230, 7240, 5000, true, 6960)).toEqual(part(3600, 4980))
    expect(plan(7230, 7240, undefined, true, 3600)).toEqual(whole)
  })

  test('everything after a long pause, or if the clock was set back', () => {
    expect(plan(7200, 90_000)).toEqual(whole)
    expect(plan(7200, 7199)).toEqual(whole)
  })
})

const everything = { sources: ['s'], column: 'timestamp', maxRows: 10_000 }

function answerOf(rows: string[]): RunResult {
  const cost = { queueMs: 0, engineMs: 0, rowsRead: 0, bytesRead: 0 }
  return { body: bodyOf(rows), rows: rows.length, truncated: false, ...cost }
}

test('a result whose rows have no buckets, or are not in their order, is computed as a whole', async () => {
  const clock = manualClock(Date.UTC(2026, 0, 2))
  const span = { window_seconds: 3600, bucket_seconds: 60 }
  for (const rows of [['{"timestamp":2}', '{"timestamp":1}'], ['{"timestamp":null}'], ['{"other":1}']]) {
    const parts: Part[] = []
    const run = async (part: Part) => {
      parts.push(part)
      return answerOf(rows)
    }
    const refresh = new IncrementalRefresh({
      ...everything,
      clock,
      arrivals: new Arrivals(),
      span,
      wholeBuckets: true,
    })
    await refresh.run(await refresh.run(undefined, run), run)
    expect(parts.map(({ range }) => range)).toEqual([undefined, undefined])
  }
})

test('a body is made of the rows that it was split into', () => {
  for (const rows of [[], ['{"a":1}'], ['{"a":"],[\\n"}', '{"b":",\\n"}']]) {
    expect(rowsOf(bodyOf(rows))).toEqual(rows)
  }
  expect(rowsOf(Buffer.from('a,b\n'))).toBeUndefined()
})

interface Query {
  /** Such buckets also have rows without entries, and the window starts with one. */
  wholeBuckets: boolean
  span: { window_seconds: number; bucket_seconds: number }
  /** As timestamp <= @now does. */
  untilNow?: boolean
  /** As timestamp <= @now - INTERVAL 4 SECOND does. */
  lagSeconds?: number
  /** As HAVING n < 3 does. */
  fewerThan?: number
}

/** A query that counts entries in memory by bucket. */
function counting(entries: bigint[], query: Query) {
  const { wholeBuckets, span, untilNow = false, lagSeconds = 0, fewerThan = Infinity } = query
  const bucket = BigInt(span.bucket_seconds) * second
  const window = BigInt(span.window_seconds) * second
  const start = (micros: bigint) => micros - (micros % bucket)
  let read = 0
  const run = async ({ nowMicros = 0n, range }: Part): Promise<RunResult> => {
    const from = wholeBuckets ? start(nowMicros - window) : nowMicros - window
    const until = nowMicros - BigInt(lagSeconds) * second
    const counts = new Map<bigint, number>()
    if (wholeBuckets) for (let b = from; b <= start(until); b += bucket) counts.set(b, 0)
    for (const micros of entries) {
      if (range && micros >= range.beforeMicros && micros < (range.fromMicros ?? 0n)) continue
      read++
      if (micros < from || (wholeBuckets && start(micros) > start(until))) continue
      if ((untilNow || lagSeconds > 0) && micros > until) continue
      counts.set(start(micros), (counts.get(start(micros)) ?? 0) + 1)
    }
    const rows = [...counts]
      .filter(([, n]) => n < fewerThan)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([t, n]) => `{"timestamp":${t},"n":${n}}`)
    return answerOf(rows)
  }
  return { run, read: () => read }
}

/** A request whose entries can be read from the start of a run on, and that ends during the run or after it. */
type Request = { arrive: number[]; ends: 'during' | 'after' }
type Step = { advance: number; arrive: number[]; meanwhile: Request; lose: boolean }

test('a refreshed result equals the whole one, byte for byte, in random histories', async () => {
  // Some refreshes find nothing new.
  const sometimes = (times: fc.Arbitrary<number[]>) => fc.oneof(fc.constant([]), times)
  const step = fc.record({
    advance: fc.oneof(
      fc.constant(0),
      fc.integer({ min: 1, max: 400 }),
      fc.integer({ min: -50, max: 40_000 }),
    ),
    arrive: sometimes(fc.array(fc.integer({ min: -9000, max: 3600 }), { maxLength: 4 })),
    meanwhile: fc.record({
      arrive: sometimes(fc.array(fc.integer({ min: -9000, max: 3600 }), { maxLength: 2 })),
      ends: fc.constantFrom('during', 'after'),
    }),
    lose: fc.boolean(),
  })
  const shape = fc.record({
    wholeBuckets: fc.boolean(),
    untilNow: fc.boolean(),
    lagSeconds: fc.constantFrom(0, 4, 100, 5000),
    fewerThan: fc.constantFrom(2, 3, Infinity),
    span: fc.constantFrom(
      { window_seconds: 3600, bucket_seconds: 60 },
      { window_seconds: 3600, bucket_seconds: 3600 },
      { window_seconds: 300, bucket_seconds: 1 },
      { window_seconds: 7200, bucket_seconds: 3600 },
    ),
    steps: fc.array(step, { maxLength: 25, size: 'max' }),
  })
  await fc.assert(
    fc.asyncProperty(shape, async ({ steps, ...query }) => {
      const { wholeBuckets, span } = query
      const clock = manualClock(Date.UTC(2026, 0, 2))
      const arrivals = new Arrivals()
      const entries: bigint[] = []
      const { run } = counting(entries, query)
      const refresh = new IncrementalRefresh({ ...everything, clock, arrivals, span, wholeBuckets })
      const store = (arrive: number[]) => {
        const times = arrive.map((seconds) => BigInt(clock.now() + seconds * 1000) * 1000n)
        const ends = times.map((micros) => arrivals.begin('s', micros))
        entries.push(...times)
        return () => {
          for (const end of ends.splice(0)) end()
        }
      }
      let kept: PreviousResult | undefined
      for (const { advance, arrive, meanwhile, lose } of steps as Step[]) {
        clock.advance(advance * 1000)
        store(arrive)()
        let end: (() => void) | undefined
        const result = await refresh.run(kept, async (part) => {
          end ??= store(meanwhile.arrive)
          const answer = await run(part)
          if (meanwhile.ends === 'during') end()
          return answer
        })
        end?.()
        const whole = await run({ nowMicros: BigInt(clock.now()) * 1000n })
        expect(result.body.toString()).toBe(whole.body.toString())
        // Not every result is stored.
        if (!lose) kept = result
      }
    }),
    { numRuns: 500 },
  )
})

/** A week with an entry every minute, counted by day, and its first result. */
async function weekOfEntries(wholeBuckets: boolean) {
  const clock = manualClock(Date.UTC(2026, 0, 2, 12))
  const now = BigInt(clock.now()) * 1000n
  const entries = Array.from({ length: 12_000 }, (_, i) => now - BigInt(i) * 60n * second)
  const span = { window_seconds: 604_800, bucket_seconds: 86_400 }
  const { run, read } = counting(entries, { wholeBuckets, span })
  const arrivals = new Arrivals()
  const refresh = new IncrementalRefresh({ ...everything, clock, arrivals, span, wholeBuckets })
  const first = await refresh.run(undefined, run)
  const whole = read()
  return {
    clock,
    arrive: () => {
      entries.push(now)
      arrivals.note('s', now)
    },
    refresh: () => refresh.run(first, run),
    whole: () => run({ nowMicros: BigInt(clock.now()) * 1000n }),
    /** Entries read since the first result, as a share of those read for it. */
    readShare: () => (read() - whole) / whole,
  }
}

test('a refresh reads only what is new', async () => {
  const { arrive, refresh, readShare, whole } = await weekOfEntries(true)
  arrive()
  const answer = await refresh()
  expect(readShare()).toBeLessThan(0.2)
  expect(answer.body.toString()).toBe((await whole()).body.toString())
})

test('a refresh of a quiet window that starts within a bucket reads only the first and the open bucket', async () => {
  const { clock, refresh, readShare, whole } = await weekOfEntries(false)
  clock.advance(300_000)
  const answer = await refresh()
  expect(readShare()).toBeLessThan(0.5)
  expect(answer.body.toString()).toBe((await whole()).body.toString())
})
