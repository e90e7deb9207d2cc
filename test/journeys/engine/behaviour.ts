import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Engine, Statement } from '../../../src/core/engine/engine.ts'
import { rowFilterSettings } from '../../../src/core/sql/isolation.ts'
import { emulated, many, type OpenEngine } from '../../support/engines.ts'

/** Hundreds of concurrent queries take an emulated engine a minute. */
const patientMs = 150_000
const limits = { deadlineMs: patientMs }

/** Tests for both embedded and remote engines. */
export function describeEngine<O extends OpenEngine>(
  name: string,
  open: () => Promise<O>,
  more: (opened: () => O) => void = () => {},
): void {
  describe(name, () => {
    let opened: O
    let engine: Engine
    const text = async (sql: string, parameters: Statement['parameters'] = {}, deadlineMs = patientMs) =>
      (await engine.query({ sql, parameters, format: 'TabSeparatedRaw' }, { deadlineMs })).body.toString()
    const running = async (marker: string) =>
      Number(
        await text(
          `SELECT count() FROM system.processes WHERE query LIKE '%${marker}%' AND query NOT LIKE '%system.proc%'`,
        ),
      )

    beforeAll(async () => {
      opened = await open()
      engine = opened.engine
    })
    afterAll(() => opened?.close())

    test('a query returns its rows in the requested format, and what it read', async () => {
      const result = await engine.query(
        { sql: 'SELECT number AS n FROM numbers(3)', format: 'JSONEachRow' },
        limits,
      )
      expect(result.body.toString()).toBe('{"n":0}\n{"n":1}\n{"n":2}\n')
      expect(result.readRows).toBe(3)
      expect(result.readBytes).toBeGreaterThan(0)
      const sum = await engine.query(
        { sql: 'SELECT sum(number) AS n FROM numbers(1000)', format: 'JSONEachRow' },
        limits,
      )
      expect(sum.body.toString()).toBe('{"n":499500}\n')
      expect(sum.readRows).toBe(1000)
      const parquet = await engine.query({ sql: 'SELECT 1 AS x', format: 'Parquet' }, limits)
      expect(parquet.body.subarray(0, 4).toString()).toBe('PAR1')
    })

    test('totals are left out of rows, also if there are no rows', async () => {
      const grouped = 'SELECT number % 2 AS n, count() AS c FROM numbers(4) GROUP BY n WITH TOTALS ORDER BY n'
      const rows = async (sql: string) =>
        (await engine.query({ sql, format: 'JSONEachRow' }, limits)).body.toString()
      expect(await rows(grouped)).toBe('{"n":0,"c":2}\n{"n":1,"c":2}\n')
      expect(await rows(`${grouped} LIMIT 0`)).toBe('')
      expect(await rows(grouped.replace('numbers(4)', 'numbers(0)'))).toBe('')
    })

    test('parameters arrive unchanged, character by character', async () => {
      const values = [
        "'",
        '\\',
        '\\N',
        '\n\r\t',
        '\0',
        "a'b\\'c\\\\",
        '😀 ü',
        '',
        "'; DROP TABLE x --",
        '{x:String}',
      ]
      for (const value of values) {
        expect(await text('SELECT hex({value:String})', { value })).toBe(
          `${Buffer.from(value).toString('hex').toUpperCase()}\n`,
        )
      }
      expect(await text('SELECT {n:Nullable(String)} IS NULL', { n: null })).toBe('1\n')
    })

    test('a parameter may have 64 KiB, whatever its characters, and the statement 256 KiB', async () => {
      for (const value of [`'\\\n${'ü'.repeat(32_000)}`, '\\'.repeat(65_536)]) {
        const sha = createHash('sha256').update(value).digest('hex').toUpperCase()
        const long = ` /* ${'😀'.repeat(64_000)} */`
        expect(
          await text(`SELECT hex(SHA256({value:String})), length({value:String})${long}`, { value }),
        ).toBe(`${sha}\t${Buffer.byteLength(value)}\n`)
      }
    })

    test('filters of hundreds of tables reach the engine', async () => {
      const tables = Array.from({ length: 1_000 }, (_, index) => `source_${index}_of_many`)
      const filters = rowFilterSettings(engine.database, tables, { project: `it's "x" \\ ü` })
      const sql = "SELECT length(toString(getSetting('additional_table_filters')))"
      const { body } = await engine.query({ sql, format: 'TabSeparatedRaw', settings: filters }, limits)
      expect(Number(body.toString())).toBeGreaterThan(100_000)
    })

    test('a missing parameter is an error, even if an earlier query had it', async () => {
      expect(await text('SELECT {left_behind:String}', { left_behind: 'secret' })).toBe('secret\n')
      for (let i = 0; i < 12; i++) {
        await expect(text('SELECT {left_behind:String}')).rejects.toMatchObject({ code: 'invalid_query' })
      }
    })

    test('parameters of concurrent queries never mix', async () => {
      const awkward = ["'", '\\', '\n', '\0', '😀', '\t', '"', '`', '{a:String}']
      const total = many(4000, 40)
      const check = async (i: number) => {
        const value = `${awkward[i % awkward.length]}${i}${awkward[(i * 7) % awkward.length]}`
        const name = `p${i % 3}`
        const hex = Buffer.from(value).toString('hex').toUpperCase()
        expect(await text(`SELECT hex({${name}:String}), {i:UInt32}`, { [name]: value, i })).toBe(
          `${hex}\t${i}\n`,
        )
      }
      const next = { i: 0 }
      const worker = async () => {
        while (next.i < total) await check(next.i++)
      }
      await Promise.all(Array.from({ length: 500 }, worker))
    })

    test('settings of one query do not reach the next', async () => {
      const ask = { sql: "SELECT getSetting('max_block_size')", format: 'TabSeparatedRaw' }
      const before = (await engine.query(ask, limits)).body.toString()
      const set = await engine.query({ ...ask, settings: { max_block_size: 4321 } }, limits)
      expect(set.body.toString()).toBe('4321\n')
      for (let i = 0; i < 10; i++) expect((await engine.query(ask, limits)).body.toString()).toBe(before)
    })

    test('inserts rows and reads them back', async () => {
      await engine.command(
        { sql: 'CREATE TABLE behaviour_rows (a String, n UInt64) ENGINE = MergeTree ORDER BY n' },
        limits,
      )
      const rows = Buffer.from(
        `${JSON.stringify({ a: "x'\\\n\0😀", n: 1 })}\n${JSON.stringify({ a: '', n: 2 })}\n`,
      )
      await engine.insert({ table: 'behaviour_rows', format: 'JSONEachRow' }, rows, limits)
      expect(await text('SELECT hex(a), n FROM behaviour_rows ORDER BY n')).toBe(
        `${Buffer.from("x'\\\n\0😀").toString('hex').toUpperCase()}\t1\n\t2\n`,
      )
      await expect(
        engine.insert(
          { table: 'behaviour_rows', format: 'JSONEachRow' },
          Buffer.from('{"n":"no"}\n'),
          limits,
        ),
      ).rejects.toMatchObject({ code: 'invalid_query' })
      expect(await text('SELECT count() FROM behaviour_rows')).toBe('2\n')
    })

    test('a syntax error has its position', async () => {
      await expect(text('SELECT 1,\n )')).rejects.toMatchObject({
        code: 'invalid_query',
        details: { line: expect.any(Number), column: expect.any(Number) },
      })
      await expect(text('SELECT no_such_column')).rejects.toMatchObject({ code: 'invalid_query' })
    })

    test('a query cannot contain several statements, write, or access files', async () => {
      await expect(text('SELECT 1; SELECT 2')).rejects.toMatchObject({ code: 'invalid_query' })
      await expect(text('DROP TABLE behaviour_rows')).rejects.toMatchObject({ code: 'invalid_query' })
      await expect(text("SELECT 1 INTO OUTFILE '/tmp/wellhead-outfile'")).rejects.toMatchObject({
        code: 'invalid_query',
      })
      expect(await text("SELECT ';  ', 'into outfile' -- ; SELECT 2")).toBe(';  \tinto outfile\n')
    })

    test('slow queries do not delay a fast one', async () => {
      const caller = new AbortController()
      const sql = 'SELECT sleepEachRow(0.1) AS slow_one FROM numbers(600) SETTINGS max_block_size = 1'
      // One less than the number of sessions, and more than Node's default thread pool.
      const slow = Array.from({ length: 7 }, () =>
        expect(
          engine.query({ sql, format: 'Null' }, { ...limits, signal: caller.signal }),
        ).rejects.toMatchObject({ code: 'query_cancelled' }),
      )
      await vi.waitFor(async () => expect(await running('slow_one')).toBe(7))
      expect(await text('SELECT 1')).toBe('1\n')
      caller.abort()
      await Promise.all(slow)
    })

    test('every statement has its time limit', async () => {
      const ask = "SELECT getSetting('max_execution_time')"
      expect(await text(ask, {}, 12_500)).toBe('12.5\n')
      await engine.command(
        { sql: 'CREATE TABLE behaviour_limits (s Float64) ENGINE = MergeTree ORDER BY s' },
        limits,
      )
      await engine.command({ sql: `INSERT INTO behaviour_limits ${ask}` }, { deadlineMs: 23_500 })
      expect(await text('SELECT s FROM behaviour_limits')).toBe('23.5\n')
    })

    test('a query stops at its deadline', async () => {
      const forever = 'SELECT sum(sipHash64(number)) AS stopped_at_deadline FROM numbers(1000000000000)'
      await expect(text(forever, {}, 500)).rejects.toMatchObject({ code: 'query_timeout', status: 504 })
      await vi.waitFor(async () => expect(await running('stopped_at_deadline')).toBe(0))
    })

    test('a query stops when its caller leaves', async () => {
      const caller = new AbortController()
      const call = engine.query(
        { sql: 'SELECT sum(sipHash64(number)) AS caller_went FROM numbers(1000000000000)', format: 'Null' },
        { deadlineMs: 60_000, signal: caller.signal },
      )
      const failed = expect(call).rejects.toMatchObject({ code: 'query_cancelled' })
      await vi.waitFor(async () => expect(await running('caller_went')).toBe(1))
      caller.abort()
      await failed
      await vi.waitFor(async () => expect(await running('caller_went')).toBe(0))
    })

    test('memory and result size are limited', async () => {
      await expect(
        engine.query(
          {
            sql: 'SELECT number, count() FROM numbers(100000000) GROUP BY number',
            format: 'Null',
            settings: { max_memory_usage: 50_000_000 },
          },
          limits,
        ),
      ).rejects.toMatchObject({ code: 'too_large', status: 413 })
      await expect(text('SELECT repeat(toString(number), 1000) FROM numbers(1000000)')).rejects.toMatchObject(
        {
          code: 'too_large',
        },
      )
    })

    test('output of a failed query never appears in a later result', async () => {
      // Sequentially, so that the same few sessions fail and are reused.
      for (let i = 0; i < many(200, 5); i++) {
        await expect(text(failing(`secret${i}`))).rejects.toMatchObject({ code: 'invalid_query' })
        expect(await text('SELECT 42')).toBe('42\n')
      }
    })

    test('concurrent tenants get their own rows while a fifth of the queries fails', async () => {
      const tenants = ['ada', 'bob', 'cyd', 'dan']
      let wrong = 0
      let failures = 0
      const total = many(3000, 40)
      const call = async (i: number) => {
        const tenant = tenants[i % tenants.length] as string
        if (i % 5 === 0) {
          failures++
          await failInSomeWay(i, tenant)
          return
        }
        const rows = 1 + (i % 50)
        const body = await text('SELECT {tenant:String}, {i:UInt32}, number FROM numbers({rows:UInt32})', {
          tenant,
          i,
          rows,
        })
        const expected = Array.from({ length: rows }, (_, n) => `${tenant}\t${i}\t${n}\n`).join('')
        if (body !== expected) wrong++
      }
      const failInSomeWay = async (i: number, tenant: string) => {
        const way = (i / 5) % 3
        if (way === 0) await expect(text(failing(tenant))).rejects.toMatchObject({ code: 'invalid_query' })
        else if (way === 1) {
          await expect(text(`${endless} -- ${tenant}`, {}, emulated ? 300 : 50)).rejects.toMatchObject({
            code: 'query_timeout',
          })
        } else {
          const caller = new AbortController()
          const gone = engine.query(
            { sql: endless, format: 'TabSeparated' },
            { deadlineMs: 60_000, signal: caller.signal },
          )
          // At different times: before it starts, while it is prepared, while it runs.
          delay(way * (i % 7) * 10).then(() => caller.abort())
          await expect(gone).rejects.toMatchObject({ code: 'query_cancelled' })
        }
      }
      const next = { i: 0 }
      const worker = async () => {
        while (next.i < total) await call(next.i++)
      }
      await Promise.all(Array.from({ length: 12 }, worker))
      expect({ wrong, failures }).toEqual({ wrong: 0, failures: total / 5 })
    })

    more(() => opened)
  })
}

/** Fails after thousands of rows. */
const failing = (mark: string) =>
  `SELECT '${mark}', number, throwIf(number = 30000, 'on purpose') FROM numbers(40000) SETTINGS max_block_size = 1000`

const endless =
  'SELECT number, sipHash64(number) FROM numbers(1000000000000) WHERE sipHash64(number) % 100000 = 0'
