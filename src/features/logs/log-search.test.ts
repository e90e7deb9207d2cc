import { expect, test } from 'vitest'
import { queryTimeout } from '../../core/base/errors.ts'
import type { Sources } from '../../core/catalog/sources.ts'
import type { Engine, Statement } from '../../core/engine/engine.ts'
import { searchedText } from '../../core/sql/word.ts'
import { LogSearch } from './log-search.ts'

const nowMs = Date.UTC(2026, 10, 1, 12)
const at = (hour: number) => `${Date.UTC(2026, 10, 1, hour) / 1000}.000000`
const startOfRange = `${Date.UTC(2026, 9, 1) / 1000}.000000`
const reader = {
  id: 'token',
  isAdmin: true,
  maySearch: () => true,
  mayReadSource: () => true,
  project: undefined,
  retentionDays: undefined,
  signal: new AbortController().signal,
}

/** A search whose statements get these results: lines, or the time limit. */
function searchWith(results: (string | 'timeout')[]) {
  const statements: Statement[] = []
  const engine = {
    database: 'wellhead',
    query: async (statement: Statement) => {
      statements.push(statement)
      const result = results.shift() ?? ''
      if (result === 'timeout') throw queryTimeout(30)
      return { body: Buffer.from(result), readRows: 0, readBytes: 0 }
    },
  } as unknown as Engine
  const sources = { named: (name: string) => ({ name, columns: [] }) } as unknown as Sources
  const search = new LogSearch({
    ...{ engine, sources, maxMemoryBytes: 1, clock: { now: () => nowMs }, hidden: () => undefined },
    inTurn: (_, work) => work(),
  })
  const from = '2026-10-01T00:00:00Z'
  const entries = (body: object = {}) => search.entries('any', { from, query: 'word', ...body }, reader)
  const histogram = (body: object = {}) => search.histogram('any', { from, ...body }, reader)
  const facets = () => search.facets('any', { from }, reader)
  return { statements, entries, histogram, facets }
}

test('a search that reaches its time limit says since when it has read everything', async () => {
  const { entries, statements } = searchWith(['{"id":"1"}\n', '{"id":"2"}\n{"id":"3"}\n', 'timeout'])
  const found = await entries()
  expect(found).toMatchObject({ count: 3, searchedSince: new Date(nowMs - 5 * 3_600_000) })
  expect(found.lines.toString()).toBe('{"id":"1"}\n{"id":"2"}\n{"id":"3"}\n')
  expect(statements.map(({ parameters }) => parameters?.slice_from).slice(0, 2)).toEqual([at(11), at(7)])
})

test('a search that reads nothing in time fails', async () => {
  await expect(searchWith(['timeout']).entries()).rejects.toMatchObject({ code: 'query_timeout' })
})

test('reads the whole range in parts without gaps, or only as much as a page needs', async () => {
  const all = searchWith([])
  expect(await all.entries()).toMatchObject({ count: 0, searchedSince: undefined })
  const bounds = all.statements.map(({ parameters }) => [parameters?.slice_from, parameters?.slice_to])
  for (const [index, [, to]] of bounds.entries()) expect(to).toBe(bounds[index - 1]?.[0])
  expect(bounds.at(-1)?.[0]).toBe(startOfRange)
  expect(bounds.length).toBeLessThan(8)
  const page = searchWith(['{}\n{}\n'])
  await page.entries({ limit: 2 })
  expect(page.statements).toHaveLength(1)
})

test('reads entries with the timestamp of the cursor, also at the start of the range', async () => {
  const { entries, statements } = searchWith([])
  await entries({ before: { timestamp: Date.UTC(2026, 9, 1) * 1000, id: 'x', skip: 1 } })
  expect(statements).toHaveLength(1)
  expect(statements[0]?.parameters).toMatchObject({ slice_from: startOfRange, skip: 1 })
})

test('looks a word up in the index once for each part of the range', async () => {
  const page = searchWith(['{}\n{}\n'])
  await page.entries({ limit: 2 })
  expect(page.statements[0]?.sql.split(searchedText())).toHaveLength(2)
})

const rangeMs = nowMs - Date.UTC(2026, 9, 1)
const firstPartMs = Math.floor(rangeMs / 256)

test('a histogram that reaches its time limit has the counts of the newest part', async () => {
  const row = (_bucket: number, _value: string, _n: number) =>
    `${JSON.stringify({ _bucket, _value, _n, _groups: 2 })}\n`
  const newest = `${row(3e6, 'a', 2)}${row(2e6, 'b', 1)}`
  const { histogram, statements } = searchWith(['timeout', newest, row(2e6, 'a', 4), 'timeout'])
  const found = await histogram({ by: 'level' })
  expect(found).toEqual({
    bucket_seconds: expect.any(Number),
    buckets: [
      { timestamp: 2e6, count: 5, counts: { a: 4, b: 1 } },
      { timestamp: 3e6, count: 2, counts: { a: 2 } },
    ],
    searchedSince: new Date(nowMs - 5 * firstPartMs),
    notes: [],
    newest: null,
  })
  const bounds = statements.map(({ parameters }) => [parameters?.slice_from, parameters?.slice_to])
  expect(bounds[0]).toEqual([undefined, undefined])
  expect(bounds[3]?.[1]).toBe(bounds[2]?.[0])
})

test('counts that get nothing in time say so, instead of why there is nothing', async () => {
  const late = searchWith(['timeout', 'timeout'])
  expect(await late.histogram()).toMatchObject({ buckets: [], notes: [], searchedSince: new Date(nowMs) })
  expect(late.statements).toHaveLength(2)
})

test('facets that reach their time limit are those of the newest part', async () => {
  const { facets, statements } = searchWith(['timeout', 'timeout', '{"_n":5}\n', 'timeout'])
  const since = new Date(nowMs - firstPartMs)
  expect(await facets()).toEqual({ entries: 5, facets: [], searchedSince: since })
  expect(statements.at(-1)?.sql).toContain(`timestamp >= fromUnixTimestamp64Milli(${since.getTime()}, 'UTC')`)
})

test('asks in conditions, which use the index of words, why nothing matches', async () => {
  const { histogram, statements } = searchWith([])
  await histogram({ query: 'one two' })
  const [, why] = statements
  const selects = why?.sql.split(' UNION ALL ') ?? []
  expect(selects).toHaveLength(3)
  for (const select of selects.slice(1)) {
    const [counted, where = ''] = select.split(' WHERE ')
    expect([counted?.includes('LIKE'), where.includes(' LIKE '), where.endsWith(' LIMIT 1)')]).toEqual([
      false,
      true,
      true,
    ])
  }
})

test('reads no paths to say why a word matches nothing', async () => {
  const { histogram, statements } = searchWith(['', '{"_n":0}\n'])
  expect(await histogram({ query: 'none' })).toMatchObject({
    notes: ['No entry in this time range matches "none".'],
  })
  expect(statements).toHaveLength(2)
  expect(statements[1]?.sql).not.toContain('LIKE')
})
