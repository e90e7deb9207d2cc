import { expect, test } from 'vitest'
import { formatMicros } from '../../base/text/timestamps.ts'
import { composeStatement } from './composed-statement.ts'
import { inspectStatement } from './statement.ts'

const compose = (sql: string, parameters: Record<string, string>, newFormat?: string) =>
  composeStatement(
    {
      sql,
      format: 'TabSeparated',
      settings: new Map([['max_threads', '1']]),
      parameters: new Map(Object.entries(parameters)),
    },
    inspectStatement(sql),
    'wh-1',
    newFormat,
  )

test('puts values, settings and the tag into the statement', () => {
  expect(compose('SELECT {a:String}, {b:Nullable(String)}\nFORMAT CSV', { a: "it's", b: '\\N' })?.sql).toBe(
    "SELECT  'it\\'s' ,  _CAST(NULL, 'Nullable(String)') \nFORMAT CSV\nSETTINGS max_threads = '1', log_comment = 'wh-1'",
  )
  expect(compose('SELECT 1\nFORMAT CSV', {}, 'JSONEachRowWithProgress')?.sql).toBe(
    "SELECT 1\nFORMAT JSONEachRowWithProgress\nSETTINGS max_threads = '1', log_comment = 'wh-1'",
  )
})

test('binds timestamps in the form that the service writes', () => {
  for (const year of [1980, 2001, 2026, 2200]) {
    const now = formatMicros(BigInt(Date.UTC(year, 5, 1)) * 1000n + 123n)
    const composed = compose("SELECT {now:DateTime64(6, 'UTC')}\nFORMAT CSV", { now })
    expect(composed?.sql).toContain(`_CAST('${now}', 'DateTime64(6, \\'UTC\\')')`)
  }
})

test('does not compose statements without a place for settings', () => {
  expect(compose('SYSTEM STOP MERGES t', {})).toBeUndefined()
  expect(compose('ALTER TABLE t DROP COLUMN a SETTINGS alter_sync = 0', {})).toBeUndefined()
  expect(
    compose('CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a SETTINGS index_granularity = 512', {})
      ?.sql,
  ).toContain('FORMAT TabSeparated SETTINGS')
})
