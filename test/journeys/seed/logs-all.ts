import { beforeAll, describe, expect, test } from 'vitest'
import { withNow } from '../../../src/core/endpoints/definition/parameters.ts'
import {
  at,
  call,
  day,
  hour,
  insert,
  minute,
  otherSources,
  plan,
  printed,
  run,
  saved,
  second,
} from './queries.ts'

export function describeLogsAll(): void {
  describe('logs.all', () => {
    const now = at('2026-03-10T12:00:00Z')
    const project = 'logs'
    const ids = async (given: Record<string, string>) =>
      (await call('logs', { project, ...given }, now)).rows.map((row) => row.id)
    const metadata = {
      request: {
        url: 'https://logs.example/rest/v1/x',
        path: '/rest/v1/x',
        headers: { 'x.forwarded.for': '::1' },
      },
      response: { status_code: 200, origin_time: 12.5 },
      nested: { list: [{ a: 1 }, { a: 'two' }], yes: true, text: '2026-01-01' },
    }
    const newest = ['in future', 'now', 'tie 2', 'tie 1', 'hour ago']

    beforeAll(async () => {
      const entry = (id: string, time: bigint) => ({ project, id, at: time })
      const bound = (name: string, time: bigint) => [
        entry(`on ${name}`, time),
        entry(`after ${name}`, time + 1n),
        entry(`before ${name}`, time - 1n),
      ]
      await insert('edge_logs', [
        entry('now', now),
        { ...entry('hour ago', now - hour), event_message: 'GET /rest', metadata },
        entry('tie 1', now - minute),
        entry('tie 2', now - minute),
        entry('in future', now + minute),
        ...bound('day', now - day),
        ...bound('week', now - 7n * day),
        ...bound('quarter', now - 90n * day),
        ...bound('start', at('2026-03-09T20:00:00Z')),
        ...bound('end', at('2026-03-09T22:00:00Z')),
        entry('old', now - 400n * day),
        ...['', 'LOGS', 'logs2', 'log.'].map((other) => ({ project: other, id: `of ${other}`, at: now })),
        ...Array.from({ length: 150 }, (_, i) => ({
          project: 'many',
          id: `many-${i}`,
          at: now - BigInt((i * 37) % 150) * second,
        })),
      ])
      for (const table of otherSources) {
        await insert(table, [
          { project, id: `${table} retained`, at: now - day + 1n },
          { project, id: `${table} expired`, at: now - day },
          { project, id: `${table} on start`, at: now - 2n * hour },
          { project, id: `${table} on end`, at: now - hour },
          { project, id: `${table} after end`, at: now - hour + 1n },
          { project: 'other', id: `${table} of another`, at: now - hour },
        ])
      }
    })

    const bounds = (name: string) => [`after ${name}`, `on ${name}`, `before ${name}`]
    const withinDay = [...newest, ...bounds('end'), ...bounds('start'), 'after day']
    const withinWeek = [...withinDay, 'on day', 'before day', 'after week']
    const withinQuarter = [...withinWeek, 'on week', 'before week', 'after quarter']

    test.each([
      { tier: 'FREE', reach: '1 day', expected: withinDay },
      { tier: 'PRO', reach: '7 days', expected: withinWeek },
      { tier: 'PAYG', reach: '90 days', expected: withinQuarter },
      { tier: 'ENTERPRISE', reach: '90 days', expected: withinQuarter },
      { tier: 'pro', reach: '1 day, as any other value does', expected: withinDay },
      { tier: '', reach: '1 day, as any other value does', expected: withinDay },
    ])(
      'tier $tier reaches back $reach: entries strictly later than that, of the project only, newest first',
      async ({ tier, expected }) => {
        expect(await ids({ project_tier: tier })).toEqual(expected)
      },
    )

    test('an omitted tier is 1 day, and an omitted project is an error', () => {
      expect(saved.logs.check({ project })).toEqual(saved.logs.check({ project, project_tier: 'FREE' }))
      expect(() => saved.logs.check({ project_tier: 'PRO' })).toThrow('Parameter "project" is required.')
    })

    test('entries are strictly later than iso_timestamp_start and not later than iso_timestamp_end', async () => {
      const expected = ['on end', 'before end', 'after start']
      const start = { iso_timestamp_start: '2026-03-09T20:00:00Z' }
      const end = { iso_timestamp_end: '2026-03-09T23:00:00 01:00' }
      expect(await ids({ ...start, ...end })).toEqual(expected)
      expect(await ids(start)).toEqual([...newest, ...bounds('end'), 'after start'])
      expect(await ids(end)).toEqual(['on end', 'before end', ...bounds('start'), 'after day'])
    })

    test('an omitted or empty bound is no bound', () => {
      const empty = { iso_timestamp_start: '', iso_timestamp_end: '' }
      const values = saved.logs.check({ project, ...empty })
      expect(values).toEqual(saved.logs.check({ project }))
      expect(values).toMatchObject({ iso_timestamp_start: null, iso_timestamp_end: null })
    })

    test('bounds do not extend the retention', async () => {
      const wide = {
        iso_timestamp_start: '0001-01-01T00:00:00Z',
        iso_timestamp_end: '9999-12-31T23:59:59.999999Z',
      }
      expect(await ids(wide)).toEqual(withinDay)
    })

    test('a bound that is not an ISO 8601 timestamp is an error', () => {
      expect(() => saved.logs.check({ project, iso_timestamp_end: '2026-02-30T00:00:00Z' })).toThrow(
        'iso_timestamp_end must be an ISO 8601 date, or date and time, such as 2026-01-31T12:00:00Z; received "2026-02-30T00:00:00Z".',
      )
    })

    test('at most 100 entries are returned: the newest, in order', async () => {
      const { rows } = await call('logs', { project: 'many' }, now)
      const newestHundred = Array.from({ length: 100 }, (_, i) => printed(now - BigInt(i) * second))
      expect(rows.map((row) => row.timestamp)).toEqual(newestHundred)
    })

    test('an entry has id, timestamp, event_message and its nested metadata', async () => {
      const { names, types, rows } = await call('logs', { project }, now)
      expect(names).toEqual(['id', 'timestamp', 'event_message', 'metadata'])
      expect(types).toEqual(['String', "DateTime64(6, 'UTC')", 'String', 'String'])
      expect(rows[4]).toEqual({
        id: 'hour ago',
        timestamp: '2026-03-10 11:00:00.000000',
        event_message: 'GET /rest',
        metadata: JSON.stringify(metadata),
      })
      expect(rows[1]).toEqual({ id: 'now', timestamp: printed(now), event_message: '', metadata: '' })
    })

    test('the views of the other sources have the same filters', async () => {
      const views = otherSources.map((table) => `${table.replace(/_logs$/, '')}_entries`)
      const { sql, check } = saved.logs
      const finalSelection = sql.indexOf('\nSELECT id, timestamp, event_message, metadata\nFROM edge_logs')
      expect(finalSelection).toBeGreaterThan(0)
      // What nothing uses is not sent.
      expect(saved.logs.prunedSql).not.toMatch(/_entries/)
      const all = views.map((view) => `SELECT id FROM ${view}`).join(' UNION ALL ')
      const given = {
        project,
        iso_timestamp_start: '2026-03-10T10:00:00Z',
        iso_timestamp_end: '2026-03-10T11:00:00Z',
      }
      const { rows } = await run(`${sql.slice(0, finalSelection)} ${all}`, withNow(check(given), now))
      const expected = otherSources.map((table) => `${table} on end`)
      expect(rows.map((row) => row.id).toSorted()).toEqual(expected.toSorted())
    })

    test('only the edge request log is read, its days within the bounds, its records of the project', async () => {
      const explained = await plan('logs', { project, iso_timestamp_end: '2026-03-10T11:00:00Z' }, now)
      expect(explained.match(/ReadFromMergeTree \(\S+\)/g)).toEqual([
        expect.stringMatching(/\.edge_logs(?:_local)?\)$/),
      ])
      expect(explained).toMatch(/Partition\n[\s\S]*?toDate\(timestamp\) in[\s\S]*?Parts: 2\/\d+/)
      expect(explained).toMatch(/PrimaryKey\n[\s\S]*?project in \['logs', 'logs'\]/)
    })
  })
}
