import { expect, test } from 'vitest'
import { memoryIo } from '../../../test/support/memory-io.ts'
import { reportCopy } from './commands.ts'

const row = { name: 'edge_logs', rows: 3, copied: 3, equal: true }

async function report(tables: (typeof row)[], options: { json?: true } = {}) {
  const io = memoryIo()
  const failure = await reportCopy(tables, options, io).then(
    () => undefined,
    (error: Error) => error.message,
  )
  return { stdout: io.stdout.text(), stderr: io.stderr.text(), failure }
}

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
  const told = await report([row, other], { json: true })
  expect(JSON.parse(told.stdout)).toEqual({ equal: false, tables: [row, other] })
  expect(told.failure).toMatch(/^1 table differs\. Make sure that nothing else writes to the server/)
  expect(told.stderr).toBe('')
})
