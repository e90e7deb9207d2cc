import { expect, test } from 'vitest'
import type { EntryReader } from '../../core/access/entry-reader.ts'
import { engineUnavailable } from '../../core/base/errors.ts'
import type { Source } from '../../core/catalog/source.ts'
import type { EntryQueries } from './entry-queries.ts'
import { filledSources } from './filled-sources.ts'

const named = (name: string, published = true) => ({ name, published }) as Source
const names = (sources: readonly Source[]) => sources.map(({ name }) => name)
const reader = (project: string | undefined) => ({ project }) as EntryReader

/** Sources of which each statement finds the newest entries of some. */
function queriesWith(results: readonly (readonly { name: string; newest: number }[])[]) {
  const statements: { sources: string[]; sql: string }[] = []
  const queries = {
    now: () => Date.parse('2026-11-19T12:00:00Z'),
    rowsOf: async (sources: readonly Source[], _reader: EntryReader, { sql }: { sql: string }) => {
      const result = results[statements.push({ sources: names(sources), sql }) - 1]
      if (result === undefined) throw engineUnavailable('The engine is away.')
      return result
    },
  } as unknown as EntryQueries
  return { queries, statements }
}

test('a project is looked for in the newest days first, then only in the sources that have none there', async () => {
  const { queries, statements } = queriesWith([[{ name: 'b', newest: 9 }], [{ name: 'c', newest: 5 }], []])
  const found = await filledSources(
    queries,
    ['a', 'b', 'c'].map((name) => named(name)),
    reader('abc'),
  )
  expect([names(found.filled), names(found.empty)]).toEqual([['b', 'c'], ['a']])
  expect(statements.map(({ sources }) => sources)).toEqual([['a', 'b', 'c'], ['a', 'c'], ['a']])
  // One row of each source, and no range is read twice.
  for (const { sources, sql } of statements) expect(sql.match(/LIMIT 1\)/g)).toHaveLength(sources.length)
  expect(statements.map(({ sql }) => [sql.includes('timestamp >='), sql.includes('timestamp <')])).toEqual([
    [true, false],
    [true, true],
    [false, true],
  ])
})

test('without a project, one statement reads what parts know of their entries', async () => {
  const { queries, statements } = queriesWith([[{ name: 'a', newest: 1 }]])
  const sources = [named('a'), named('quarantine', false)]
  expect(names((await filledSources(queries, sources, reader(undefined))).filled)).toEqual(['a'])
  expect(statements).toHaveLength(1)
  expect(statements[0]?.sql).not.toMatch(/WHERE|quarantine/)
})

test('while the engine is away, no source is called empty', async () => {
  const found = await filledSources(queriesWith([]).queries, [named('a'), named('b')], reader('abc'))
  expect([names(found.filled), found.empty]).toEqual([['a', 'b'], []])
})
