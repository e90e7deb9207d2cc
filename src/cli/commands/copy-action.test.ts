import { expect, test } from 'vitest'
import { memoryIo } from '../../../test/support/memory-io.ts'
import { reportCopy } from './copy-action.ts'

const finishedAt = '2026-01-31 12:00:00.000'
const row = { name: 'edge_logs', rows: 3, copied: 3, equal: true }

async function report(tables: (typeof row)[], finished?: string, options: { json?: true } = {}) {
  const io = memoryIo()
  const failure = await reportCopy(tables, finished, options, io).then(
    () => undefined,
    (error: Error) => error.message,
  )
  return { stdout: io.stdout.text(), stderr: io.stderr.text(), failure }
}

test('a copy that an earlier run finished is reported without tables', async () => {
  const stderr = `The copy was finished on ${finishedAt}. Nothing was changed.\n`
  expect(await report([], finishedAt)).toEqual({ stdout: '', stderr, failure: undefined })
  const { stdout, ...rest } = await report([], finishedAt, { json: true })
  expect(JSON.parse(stdout)).toEqual({ finished_at: finishedAt, equal: true, tables: [] })
  expect(rest).toEqual({ stderr, failure: undefined })
})

test('tables are listed with their rows, and what has to be done is said', async () => {
  const { stdout, stderr, failure } = await report([row])
  expect(stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
    ['NAME', 'ROWS', 'COPIED', 'EQUAL'],
    ['edge_logs', '3', '3', 'yes'],
    [''],
  ])
  expect(stderr).toMatch(/^All rows are equal\. The admin token is not copied: /)
  expect(failure).toBeUndefined()
})

test('a table that differs fails the command', async () => {
  const other = { name: 'auth_logs', rows: 2, copied: 1, equal: false }
  const told = await report([row, other], undefined, { json: true })
  expect(JSON.parse(told.stdout)).toEqual({ finished_at: null, equal: false, tables: [row, other] })
  expect(told.failure).toMatch(/^1 table differs\. Make sure that nothing else writes to the server/)
  expect(told.stderr).toBe('')
})
