import { Agent } from 'node:http'
import { ClickHouseLogLevel, createClient } from '@clickhouse/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { socketPathFor } from '../../../src/engine/embedded-engine.ts'

/** Tests of the official ClickHouse client on the engine's socket. */
export function describeOfficialClient(dataDir: () => string): void {
  describe('the official client on the socket of the engine', () => {
    let client: ReturnType<typeof createClient>

    beforeAll(() => {
      client = createClient({
        url: 'http://engine',
        http_agent: new Agent({ keepAlive: true, ...{ socketPath: socketPathFor(dataDir()) } }),
        keep_alive: { enabled: true },
        log: { level: ClickHouseLogLevel.OFF },
      })
    })
    afterAll(() => client?.close())

    test('runs queries with parameters of any type and settings', async () => {
      const result = await client.query({
        query:
          "SELECT {text:String} AS text, {list:Array(UInt8)} AS list, {at:DateTime} AS at, getSetting('max_block_size') AS size FROM system.{table:Identifier}",
        query_params: { text: "it's\n\\ü", list: [1, 2], at: '2026-01-31 12:00:00', table: 'one' },
        clickhouse_settings: { max_block_size: '77' },
        format: 'JSONEachRow',
      })
      expect(await result.json()).toEqual([
        { text: "it's\n\\ü", list: [1, 2], at: '2026-01-31 12:00:00', size: 77 },
      ])
      const next = await client.query({
        query: "SELECT getSetting('max_block_size') AS size",
        format: 'JSON',
      })
      expect((await next.json<{ size: string }>()).data[0]?.size).not.toBe('77')
    })

    test('accepts a semicolon, a comment, a format and settings at the end of a statement', async () => {
      for (const [query, expected] of [
        ['SELECT 1 AS n; -- the end', '1\n'],
        ['SELECT 1 AS n FORMAT JSONEachRow', '{"n":1}\n'],
        ["SELECT getSetting('max_threads') AS n FORMAT CSV SETTINGS max_threads = 3", '3\n'],
        ["SELECT getSetting('max_threads') AS n SETTINGS max_threads = 3 -- none", '3\n'],
        ["SELECT 'x' AS format, format AS settings FROM system.one FORMAT CSV", '"x","x"\n'],
        ['EXPLAIN AST SELECT 1', expect.stringContaining('Literal UInt64_1')],
      ] as const) {
        const { stream } = await client.exec({ query, clickhouse_settings: { max_execution_time: 60 } })
        const chunks: Buffer[] = []
        for await (const chunk of stream) chunks.push(chunk as Buffer)
        expect(Buffer.concat(chunks).toString(), query).toEqual(expected)
      }
    })

    test('creates, fills, alters and drops a table', async () => {
      await client.command({
        query: 'CREATE TABLE official (a String, n UInt64) ENGINE = MergeTree ORDER BY n',
      })
      await client.insert({
        table: 'official',
        values: [
          { a: 'x', n: 1 },
          { a: 'y', n: 2 },
          { a: 'z', n: 3 },
        ],
        format: 'JSONEachRow',
      })
      await client.command({ query: "INSERT INTO official VALUES ('v', 4)" })
      await client.command({ query: 'INSERT INTO official SELECT {a:String}, 5', query_params: { a: 'w' } })
      await client.command({ query: 'DELETE FROM official WHERE n = {n:UInt64}', query_params: { n: 1 } })
      const result = await client.query({
        query: 'SELECT a FROM official ORDER BY n',
        format: 'JSONCompactEachRow',
      })
      expect(await result.json()).toEqual([['y'], ['z'], ['v'], ['w']])
      await client.command({ query: 'DROP TABLE official SYNC' })
    })

    test('gets errors in terms of its own statement', async () => {
      const failing = client.query({
        query: 'SELECT {a:String},\n  (1',
        query_params: { a: 'secret' },
        clickhouse_settings: { max_threads: 7 },
      })
      await expect(failing).rejects.toMatchObject({
        code: '62',
        message: expect.stringMatching(/line 2, col 3/),
      })
      await failing.catch(({ message }) => expect(message).not.toMatch(/secret|max_threads|log_comment/))
      // Without its value, the statement would parse.
      await expect(
        client.query({ query: 'SELECT CAST(1, {type:String})', query_params: { type: '1' } }),
      ).rejects.toMatchObject({ code: '62' })
      await expect(client.query({ query: 'SELECT nothing' })).rejects.toMatchObject({
        code: '47',
        type: 'UNKNOWN_IDENTIFIER',
      })
    })

    test('pings', async () => {
      expect(await client.ping()).toEqual({ success: true })
    })
  })
}
