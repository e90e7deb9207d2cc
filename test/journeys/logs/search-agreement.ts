import { beforeAll, describe, expect, test } from 'vitest'
import { invalidParameter } from '../../../src/core/base/errors.ts'
import { JsonPaths } from '../../../src/core/base/json/json-paths.ts'
import { queryRows } from '../../../src/core/engine/json-rows.ts'
import { readEntry } from '../../../src/core/intake/entry-batch.ts'
import { entryMatch } from '../../../src/core/search/condition-match.ts'
import { type BoundValues, conditionSql } from '../../../src/core/search/condition-sql.ts'
import { readQuery } from '../../../src/core/search/parse-query.ts'
import { LiveEntry } from '../../../src/features/live/live-reader.ts'
import { ask } from '../../support/callers.ts'
import { many } from '../../support/engines.ts'
import { logClient } from '../../support/log-client.ts'
import type { RunningService } from '../../support/service.ts'
import {
  alike,
  columns,
  comparisons,
  entries,
  queryMaker,
  randomNumbers,
  texts,
  words,
} from './agreement-values.ts'

/** The same entries are found by searching and by following. */
export function searchAgreement(running: () => RunningService): void {
  const { send } = logClient(running)
  const admin = (method: string, path: string, body?: unknown) =>
    ask(running(), running().adminToken.token, method, path, body)
  const stored = entries.map((entry) => {
    const reading = readEntry(entry, { nowMs: Date.now() })
    if ('reason' in reading) throw new Error(`${reading.reason}: ${entry}`)
    return new LiveEntry(reading.line, 0, '0')
  })

  describe('the engine and the live tail understand a query in the same way', () => {
    // One source has the index of words, which merges build; the entries of the other are read.
    const sources = ['agreed', 'merged'] as const
    let turn = 0
    beforeAll(async () => {
      for (const name of sources) {
        await admin('POST', '/api/sources', { name, columns, search_index: name === 'merged' })
        const sent = await send(name, entries.join('\n'), { 'Content-Type': 'application/x-ndjson' })
        expect(sent.body).toMatchObject({ accepted: entries.length, rejected: 0 })
      }
      const { engine } = running()
      await engine.command({ sql: 'OPTIMIZE TABLE merged FINAL' }, { deadlineMs: 60_000 })
      const sql =
        "SELECT toUInt32(sum(secondary_indices_compressed_bytes)) AS bytes FROM system.parts WHERE table = 'merged' AND active"
      const [found] = await queryRows<{ bytes: number }>(engine, { sql }, { deadlineMs: 60_000 })
      expect(found?.bytes).toBeGreaterThan(0)
    })

    const source = () => sources[turn++ % 2] as string

    /** The ids that a query finds, or that it is refused. */
    type Found = string[] | 'refused'

    interface Asked {
      query: string
      source: string
    }

    /** Each query is a search of its own. */
    const bySearch = (asked: readonly Asked[]): Promise<Found[]> =>
      Promise.all(
        asked.map(async ({ query, source }) => {
          const found = await admin('POST', `/api/sources/${source}/search`, { query, limit: 500 })
          if (found.status !== 400) return found.body.map(({ id }: { id: string }) => id)
          expect(() => readQuery(query, columns)).toThrow(found.body.error.message)
          return 'refused'
        }),
      )

    /** The conditions of all searches are one statement, which takes a fraction of the time. */
    async function byCondition(asked: readonly Asked[]): Promise<Found[]> {
      const values: BoundValues = {}
      const parts = asked.map(({ query, source }, at) => {
        if (isRefused(query)) return undefined
        // A search reads the index of words, and looks at what it found again.
        const [index, few] = (['index', 'few'] as const).map((words) =>
          conditionSql(readQuery(query, columns), values, words),
        )
        return `SELECT ${at} AS search, id FROM ${source} WHERE (${index}) AND (${few})`
      })
      const sql = parts.filter((part) => part !== undefined).join(' UNION ALL ')
      type Row = { search: number; id: string }
      const limits = { deadlineMs: 60_000 }
      const rows =
        sql === '' ? [] : await queryRows<Row>(running().engine, { sql, parameters: values }, limits)
      return parts.map((part, at) => {
        return part === undefined ? 'refused' : rows.filter(({ search }) => search === at).map(({ id }) => id)
      })
    }

    const isRefused = (query: string) => {
      try {
        readQuery(query, columns)
        return false
      } catch (error) {
        if (!invalidParameter.is(error)) throw error
        return true
      }
    }

    /** For each query, how many entries it finds. Their SQL runs as one statement, too. */
    async function compareAll(queries: readonly string[], find = bySearch): Promise<('refused' | number)[]> {
      const asked = queries.map((query) => ({ query, source: source() }))
      const all = await find(asked)
      const sqlOf = async ({ query, source }: Asked, at: number) => {
        if (all[at] === 'refused') return []
        const { body } = await admin('POST', `/api/sources/${source}/search-sql`, { query })
        return [`SELECT ${at} AS search, id FROM (${body.query})`]
      }
      const parts = (await Promise.all(asked.map(sqlOf))).flat()
      const body = { query: parts.join('\nUNION ALL\n'), max_rows: 10_000 }
      const rows = parts.length > 0 ? await admin('POST', '/api/sql', body) : undefined
      if (rows) expect([queries, rows.status, rows.body.error?.message]).toEqual([queries, 200, undefined])
      const found: { search: number; id: string }[] = rows?.body.result ?? []
      return queries.map((query, at) => {
        const ids = all[at] as Found
        if (ids === 'refused') return 'refused'
        ids.sort()
        const bySql = found.filter(({ search }) => search === at).map(({ id }) => id)
        expect([query, bySql.sort()]).toEqual([query, ids])
        const { paths, tests, decide } = entryMatch(readQuery(query, columns))
        const wanted = new JsonPaths()
        for (const path of paths) wanted.add(path)
        const matching = stored
          .map((entry) => entry.stored(wanted))
          .filter((entry) => decide((test) => tests[test]?.(entry) ?? false))
          .map((entry) => entry.column('id'))
        expect({ query, ids: matching.sort() }).toEqual({ query, ids })
        return ids.length
      })
    }

    const compare = async (query: string) => (await compareAll([query]))[0] as 'refused' | number

    test('for each operator on each kind of field', async () => {
      const exact = texts.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`)
      const queries = [
        ...[...comparisons, ...exact].map((value) => `plain:${value}`),
        ...['status', 'url', 'level'].flatMap((field) => comparisons.map((value) => `${field}:${value}`)),
        ...words.flatMap((word) => [word, word]).map((word) => `"${word.replace(/["\\]/g, '\\$&')}"`),
      ]
      while (queries.length > 0) await compareAll(queries.splice(0, 16), byCondition)
    })

    test('for letters whose lower case has another length, and for scripts with few capitals', async () => {
      for (const pair of alike) {
        const words = await compareAll(
          pair.map((word) => `"${word}"`),
          byCondition,
        )
        const fields = await compareAll(
          pair.map((word) => `plain:*${word}*`),
          byCondition,
        )
        // Both, alone and with an exclamation mark.
        expect([pair, words[0], fields[0]]).toEqual([pair, words[1], fields[1]])
        expect(fields[0]).toBeGreaterThanOrEqual(4)
      }
      expect(await compare('"mini"')).toBe(1)
    })

    test('for numbers, which are found as they were sent and by value', async () => {
      for (const field of ['plain', 'url', 'status']) {
        const queries = [`${field}:1.50`, `${field}:15e-1`, `${field}:1E21`, `${field}:1.0`]
        expect([field, await compareAll(queries)]).toEqual([field, [1, 1, 1, 2]])
        // The number, and the texts "500" and "5e2".
        expect([field, await compare(`${field}:(5e2 OR 7)`)]).toEqual([field, field === 'status' ? 5 : 3])
      }
      expect(await compare('plain:"1.50"')).toBe(0)
    })

    test('for combinations', async () => {
      const nextQuery = queryMaker(randomNumbers(20_260_101))
      const results = []
      for (let left = many(3_000, 56); left > 0; left -= 8) {
        results.push(...(await compareAll(Array.from({ length: 8 }, nextQuery))))
      }
      const found = results.filter(
        (result) => typeof result === 'number' && result > 0 && result < entries.length,
      )
      expect(found.length).toBeGreaterThan(results.length / 4)
    })
  })
}
