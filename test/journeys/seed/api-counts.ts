import { beforeAll, describe, expect, test } from 'vitest'
import { engineCodeOf } from '../../../src/core/engine/engine-errors.ts'
import { many } from '../../support/engines.ts'
import { at, call, day, type Entry, hour, insert, minute, plan, saved } from './queries.ts'

export function describeApiCounts(): void {
  describe('usage.api-counts', () => {
    const now = at('2026-03-10T12:34:56.789012Z')
    const areas = ['rest', 'storage', 'auth', 'realtime'].map((area) => `total_${area}_requests`)
    const row = (timestamp: string, ...counts: number[]) => ({
      timestamp,
      ...Object.fromEntries(areas.map((area, i) => [area, counts[i]])),
    })

    beforeAll(async () => {
      const entries: Entry[] = []
      const request = (host: string, path: string | undefined, time: bigint) =>
        entries.push({
          project: 'of no matter',
          at: time,
          metadata: { request: { url: `https://${host}.example${path ?? ''}?q=1`, path } },
        })
      for (const start of [now - hour, now - 7n * day]) {
        request('bounds', '/rest/v1/on', start)
        request('bounds', '/storage/v1/before', start - 1n)
        request('bounds', '/auth/v1/after', start + 1n)
      }
      request('bounds', '/realtime/v1', now)
      const today = at('2026-03-10T00:00:00Z')
      for (const path of [
        '/rest/v1/auth',
        '/v1/rest',
        '/api/restaurant',
        '/storage/v1',
        '/realtime/v1',
        '/auth',
      ]) {
        request('areas', path, today)
      }
      for (const path of ['/', undefined, 'rest/v1', '/REST', '/res/t', '/Auth'])
        request('areas', path, today - 1n)
      request('areas', '/storage/auth/realtime/rest/rest', today - 3n * day)
      request('future', '/rest', now + 30n * minute)
      request('a1b2', '/rest', now)
      request('A1B2', '/auth', now)
      request('c3d4', '/storage', now)
      for (const time of ['2025-12-31T23:59:59.999999Z', '2026-01-01T00:00:00Z'])
        request('year', '/rest', at(time))
      request('leap', '/rest', at('2024-02-29T23:59:59.999999Z'))
      await insert('edge_logs', entries)
      await insert('edge_logs', [{ at: at('2027-05-05T05:05:05Z') }])
    })

    test('minutely counts from 60 minutes before now, that instant included, by the minute', async () => {
      const { names, types, rows } = await call('counts', { project: 'bounds', interval: 'minutely' }, now)
      expect(rows).toEqual([
        row('2026-03-10 11:34:00', 1, 0, 1, 0), //
        row('2026-03-10 12:34:00', 0, 0, 0, 1),
      ])
      expect(names).toEqual(['timestamp', ...areas])
      expect(types).toEqual(["DateTime('UTC')", 'UInt64', 'UInt64', 'UInt64', 'UInt64'])
    })

    test('hourly counts from 1 hour before now, that instant included, by the hour: two buckets', async () => {
      const { rows } = await call('counts', { project: 'bounds', interval: 'hourly' }, now)
      expect(rows).toEqual([
        row('2026-03-10 11:00:00', 1, 0, 1, 0), //
        row('2026-03-10 12:00:00', 0, 0, 0, 1),
      ])
    })

    test('daily counts from 7 days before now, that instant included, by the day, with no row for an empty one', async () => {
      const { rows } = await call('counts', { project: 'bounds', interval: 'daily' }, now)
      expect(rows).toEqual([
        row('2026-03-03 00:00:00', 1, 0, 1, 0), //
        row('2026-03-10 00:00:00', 1, 1, 1, 1),
      ])
    })

    test('a request counts in every area that its path contains, and one without any gives a row of zeros', async () => {
      const { rows } = await call('counts', { project: 'areas', interval: 'daily' }, now)
      expect(rows).toEqual([
        row('2026-03-07 00:00:00', 1, 1, 1, 1),
        row('2026-03-09 00:00:00', 0, 0, 0, 0),
        row('2026-03-10 00:00:00', 3, 1, 2, 1),
      ])
    })

    test('an entry with a future timestamp counts', async () => {
      const { rows } = await call('counts', { project: 'future', interval: 'hourly' }, now)
      expect(rows).toEqual([row('2026-03-10 13:00:00', 1, 0, 0, 0)])
    })

    test.each([
      ['a1b2', [1, 0, 0, 0]],
      ['(?i)a1b2', [1, 0, 1, 0]],
      ['^https://(a1b2|c3d4)\\.example/', [1, 1, 0, 0]],
      ['[ac][13][bd][24]\\.example/(rest|storage)\\?q=1$', [1, 1, 0, 0]],
    ])('the project %s is matched as a regular expression against the URL', async (project, counts) => {
      const { rows } = await call('counts', { project, interval: 'minutely' }, now)
      expect(rows).toEqual([row('2026-03-10 12:34:00', ...counts)])
    })

    test('an empty project matches every URL, even a missing one', async () => {
      const { rows } = await call('counts', { project: '', interval: 'hourly' }, at('2027-05-05T05:30:00Z'))
      expect(rows).toEqual([row('2027-05-05 05:00:00', 0, 0, 0, 0)])
      const missing = await call('counts', { project: '.', interval: 'hourly' }, at('2027-05-05T05:30:00Z'))
      expect(missing.rows).toEqual([])
    })

    test('days are in UTC at the end of a year and of February, whatever the time zone of the engine', async () => {
      const zone = { session_timezone: 'America/Los_Angeles' }
      const daily = (project: string, time: string) =>
        call('counts', { project, interval: 'daily' }, at(time), zone).then(({ rows }) => rows)
      expect(await daily('year\\.example', '2026-01-02T00:00:00Z')).toEqual([
        row('2025-12-31 00:00:00', 1, 0, 0, 0),
        row('2026-01-01 00:00:00', 1, 0, 0, 0),
      ])
      expect(await daily('leap\\.example', '2024-03-07T12:00:00Z')).toEqual([
        row('2024-02-29 00:00:00', 1, 0, 0, 0),
      ])
    })

    test('any other or an omitted interval is an error that lists the allowed values', () => {
      const allowed = ['minutely', 'hourly', 'daily']
      const details = { parameter: 'interval', allowed }
      for (const interval of ['weekly', 'Daily', '']) {
        expect(() => saved.counts.check({ project: 'x', interval })).toThrow(
          expect.objectContaining({
            code: 'invalid_parameter',
            message: 'interval must be one of minutely, hourly, daily.',
            details,
          }),
        )
      }
      expect(() => saved.counts.check({ project: 'x' })).toThrow(
        expect.objectContaining({ code: 'missing_parameter', details }),
      )
      expect(() => saved.counts.check({ interval: 'daily' })).toThrow('Parameter "project" is required.')
    })

    test('an expression that cannot be compiled is an error of the engine', async () => {
      const refused = await call('counts', { project: '(', interval: 'daily' }, now).catch((error) => error)
      expect(engineCodeOf(refused)).toBe(427)
      expect([...saved.counts.patterns.values()]).toEqual(['project'])
    })

    test.each([
      ['nested repetition', `^${'(a+)+'.repeat(20)}$`],
      [
        'hundreds of alternatives and more',
        Array.from({ length: many(4000, 500) }, (_, i) => `x${i}y`).join('|'),
      ],
    ])('an expression of %s returns rows', async (_, project) => {
      expect((await call('counts', { project, interval: 'daily' }, now)).rows).toEqual([])
    })

    test('days before the window are not read, and the index on the URL can be used', async () => {
      const explained = await plan('counts', { project: 'abcdefghijklmnopqrst', interval: 'hourly' }, now)
      expect(explained).toMatch(/Partition\n[\s\S]*?toDate\(timestamp\) in/)
      expect(explained).toMatch(/Skip\n\s+Name: request_url_ngrams[\s\S]*?Granules: 0\/\d+/)
    })
  })
}
