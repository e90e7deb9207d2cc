import { beforeAll, describe, expect, test } from 'vitest'
import {
  at,
  call,
  day,
  type Entry,
  hour,
  insert,
  minute,
  plan,
  printed,
  type Row,
  saved,
  second,
} from './queries.ts'

export function describeInvocationStats(): void {
  describe('functions.invocation-stats', () => {
    const now = at('2026-03-10T12:34:56.789012Z')
    const intervals = [
      { interval: '5min', length: 5n * minute, unit: second, buckets: 301 },
      { interval: '15min', length: 15n * minute, unit: minute, buckets: 16 },
      { interval: '1hr', length: hour, unit: minute, buckets: 61 },
      { interval: '1day', length: day, unit: hour, buckets: 25 },
      { interval: '7day', length: 7n * day, unit: day, buckets: 8 },
    ]
    const truncated = (micros: bigint, unit: bigint) => micros - (micros % unit)
    const series = (from: bigint, unit: bigint, buckets: number) =>
      Array.from({ length: buckets }, (_, i) => printed(from + BigInt(i) * unit))
    const executionTimes = ['min', 'max', 'avg', 'p95', 'p99'].map((name) => `${name}_execution_time`)
    const empty = {
      ...Object.fromEntries(executionTimes.map((name) => [name, null])),
      count: 0,
      error_count: 0,
    }
    const counted = (rows: Row[]) => rows.filter((row) => row.count !== 0)

    /** Execution times by bucket: few and many, so that a rank that is off by one shows. */
    const samples = [1, 2, 3, 19, 20, 21, 99, 100, 101, 2500].map((size, i) => ({
      bucket: at('2026-03-10T11:00:00Z') + BigInt(i) * minute,
      values: Array.from({ length: size }, (_, k) => ((k * 7919 + size) % 104_729) / 8),
    }))

    beforeAll(async () => {
      const entries: Entry[] = []
      const invocation = (project: string, time: bigint, metadata: Record<string, unknown> = {}) =>
        entries.push({ project, at: time, metadata })
      for (const { interval, length, unit } of intervals) {
        const first = truncated(now - length, unit)
        const end = truncated(now, unit) + unit
        for (const time of [first - 1n, first, first + unit - 1n, first + unit, end - 1n, end, now + day]) {
          invocation(`bounds ${interval}`, time)
        }
      }
      const times = [12.5, '7', 80, '80.25', undefined, null, 'soon', { ms: 5 }]
      for (const time of times) invocation('times', now, { execution_time_ms: time })
      invocation('times', now - minute, { response: { status_code: 200 } })
      const codes = [
        100,
        200,
        302,
        399,
        '399',
        400,
        '404',
        499,
        500,
        '503',
        599,
        600,
        undefined,
        null,
        'none',
        '',
      ]
      for (const code of codes) invocation('codes', now, { response: { status_code: code } })
      invocation('codes', now, {})
      for (const { bucket, values } of samples) {
        for (const value of values) invocation('percentiles', bucket, { execution_time_ms: value })
      }
      for (const function_id of ['f1', 'f1', 'f2', '', undefined])
        invocation('functions', now, { function_id })
      for (const project of ['', '', 'Functions', 'functions2', 'function.']) invocation(project, now)
      for (const time of [
        '2024-02-28T23:59:59.999999Z',
        '2024-02-29T00:00:00Z',
        '2024-02-29T23:59:59.999999Z',
      ]) {
        invocation('leap', at(time))
      }
      invocation('leap', at('2024-03-01T00:00:00Z'))
      invocation('year', at('2025-12-31T22:59:59.999999Z'))
      invocation('year', at('2025-12-31T23:30:00Z'))
      invocation('year', at('2026-01-01T00:00:00Z'))
      invocation('year', at('2026-01-01T00:00:00.999999Z'))
      invocation('last second', at('2025-06-30T23:59:59.5Z'))
      invocation('clocks', at('2026-03-29T00:59:59.999999Z'))
      invocation('clocks', at('2026-03-29T01:00:00Z'))
      invocation('clocks', at('2026-03-29T02:30:00Z'))
      await insert('function_edge_logs', entries)
      await insert('function_logs', [{ project: 'functions', at: now }])
    })

    test.each(intervals)(
      'interval $interval has $buckets buckets, from the one of now minus its length to the one of now',
      async ({ interval, length, unit, buckets }) => {
        const { rows } = await call('stats', { project: `bounds ${interval}`, interval }, now)
        const first = truncated(now - length, unit)
        expect(rows.map((row) => row.timestamp)).toEqual(series(first, unit, buckets))
        expect(rows.at(-1)?.timestamp).toBe(printed(truncated(now, unit)))
        // A record is in the bucket of its truncated time; before the first bucket and after the last it is in none.
        expect(counted(rows).map((row) => [row.timestamp, row.count])).toEqual([
          [printed(first), 2],
          [printed(first + unit), 1],
          [printed(truncated(now, unit)), 1],
        ])
        expect(rows[2]).toEqual({ ...empty, timestamp: printed(first + 2n * unit) })
      },
    )

    test('any other or an omitted interval behaves as 1day', async () => {
      const project = 'bounds 1day'
      const asOneDay = await call('stats', { project, interval: '1day' }, now)
      expect(asOneDay.rows).toHaveLength(25)
      for (const interval of ['2day', '']) {
        expect(await call('stats', { project, interval }, now)).toEqual(asOneDay)
      }
      expect(saved.stats.check({ project })).toEqual(saved.stats.check({ project, interval: '1day' }))
    })

    test('a request exactly at the start of a bucket starts and ends with a whole bucket', async () => {
      const exact = at('2026-03-10T12:00:00Z')
      const { rows } = await call('stats', { project: 'nobody', interval: '1day' }, exact)
      expect(rows).toEqual(series(exact - day, hour, 25).map((timestamp) => ({ ...empty, timestamp })))
    })

    test('returns the documented columns in order; execution times can be null', async () => {
      const { names, types } = await call('stats', { project: 'nobody', interval: '15min' }, now)
      expect(names).toEqual(['timestamp', ...executionTimes, 'count', 'error_count'])
      expect(types).toEqual([
        "DateTime64(6, 'UTC')",
        ...executionTimes.map(() => 'Nullable(Float64)'),
        ...['UInt64', 'UInt64'],
      ])
    })

    test('a record without a valid execution time is counted, but not in the execution times', async () => {
      const { rows } = await call('stats', { project: 'times', interval: '15min' }, now)
      expect(rows.at(-1)).toEqual({
        timestamp: '2026-03-10 12:34:00.000000',
        min_execution_time: 7,
        max_execution_time: 80.25,
        avg_execution_time: (12.5 + 7 + 80 + 80.25) / 4,
        p95_execution_time: 80.25,
        p99_execution_time: 80.25,
        count: 8,
        error_count: 0,
      })
      expect(rows.at(-2)).toEqual({ ...empty, timestamp: '2026-03-10 12:33:00.000000', count: 1 })
    })

    test('error_count counts records with a status code of 400 or higher', async () => {
      const { rows } = await call('stats', { project: 'codes', interval: '15min' }, now)
      expect(rows.at(-1)).toMatchObject({ count: 17, error_count: 7 })
    })

    test('percentiles are observed values within 1 % of the exact rank, in small and large buckets', async () => {
      const { rows } = await call(
        'stats',
        { project: 'percentiles', interval: '1hr' },
        at('2026-03-10T11:59:00Z'),
      )
      for (const { bucket, values } of samples) {
        const row = rows.find(({ timestamp }) => timestamp === printed(bucket)) as Record<string, number>
        const sorted = values.toSorted((a, b) => a - b)
        for (const percent of [95, 99]) {
          const value = row[`p${percent}_execution_time`] as number
          const rank = Math.ceil((percent * values.length) / 100)
          const nearest = sorted[rank - 1] as number
          const tolerance = Math.floor(values.length / 100)
          expect(sorted).toContain(value)
          expect(Math.abs(sorted.indexOf(value) - sorted.indexOf(nearest))).toBeLessThanOrEqual(tolerance)
        }
        expect(row).toMatchObject({
          min_execution_time: sorted[0],
          max_execution_time: sorted.at(-1),
          avg_execution_time: expect.closeTo(
            values.reduce((sum, value) => sum + value, 0) / values.length,
            6,
          ),
          count: values.length,
        })
      }
    })

    test('function_id selects one function; omitted or empty, all functions of the project are included', async () => {
      const last = async (given: Record<string, string>) =>
        (await call('stats', { project: 'functions', interval: '5min', ...given }, now)).rows.at(-1)
      expect(await last({})).toMatchObject({ count: 5 })
      expect(await last({ function_id: 'f1' })).toMatchObject({ count: 2 })
      expect(await last({ function_id: 'f' })).toMatchObject({ count: 0 })
      const project = 'functions'
      expect(saved.stats.check({ project, function_id: '' })).toEqual(saved.stats.check({ project }))
    })

    test('the project must be equal, and an empty project is the empty string', async () => {
      const { rows } = await call('stats', { project: '', interval: '5min' }, now)
      expect(rows.at(-1)).toMatchObject({ count: 2 })
      expect(() => saved.stats.check({ interval: '5min' })).toThrow('Parameter "project" is required.')
    })

    test('a leap day is a bucket, and a year ends between two buckets', async () => {
      const leap = await call('stats', { project: 'leap', interval: '7day' }, at('2024-03-01T06:00:00Z'))
      expect(leap.rows.slice(-3).map((row) => [row.timestamp, row.count])).toEqual([
        ['2024-02-28 00:00:00.000000', 1],
        ['2024-02-29 00:00:00.000000', 2],
        ['2024-03-01 00:00:00.000000', 1],
      ])
      const year = await call('stats', { project: 'year', interval: '1hr' }, at('2026-01-01T00:00:00.5Z'))
      expect(year.rows).toHaveLength(61)
      expect(counted(year.rows).map((row) => [row.timestamp, row.count])).toEqual([
        ['2025-12-31 23:30:00.000000', 1],
        ['2026-01-01 00:00:00.000000', 2],
      ])
    })

    test('a record in the last second of the series is counted, even alone on its day', async () => {
      const { rows } = await call(
        'stats',
        { project: 'last second', interval: '7day' },
        at('2025-06-30T23:59:59.9Z'),
      )
      expect(rows.at(-1)).toMatchObject({ timestamp: '2025-06-30 00:00:00.000000', count: 1 })
    })

    test('hours are in UTC, whatever the time zone of the engine, also while clocks change', async () => {
      const berlin = { session_timezone: 'Europe/Berlin' }
      const { rows } = await call(
        'stats',
        { project: 'clocks', interval: '1day' },
        at('2026-03-29T05:00:00Z'),
        berlin,
      )
      expect(rows).toHaveLength(25)
      expect(counted(rows).map((row) => [row.timestamp, row.count])).toEqual([
        ['2026-03-29 00:00:00.000000', 1],
        ['2026-03-29 01:00:00.000000', 1],
        ['2026-03-29 02:00:00.000000', 1],
      ])
    })

    test('empty buckets have count 0 even if the engine joins with nulls', async () => {
      const { rows } = await call('stats', { project: 'times', interval: '15min' }, now, {
        join_use_nulls: 1,
      })
      expect(rows[0]).toEqual({ ...empty, timestamp: '2026-03-10 12:19:00.000000' })
      expect(rows.at(-1)).toMatchObject({ count: 8 })
    })

    test('only the days of the series and the records of the project are read', async () => {
      const given = { project: 'bounds 5min', interval: '5min' }
      const explained = await plan('stats', given, now)
      expect(explained).toMatch(/Partition\n[\s\S]*?Condition: \(?and\(\(toDate\(timestamp\) in/)
      expect(explained).toMatch(/PrimaryKey\n[\s\S]*?project in \['bounds 5min', 'bounds 5min'\]/)
    })
  })
}
