import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isHalfMade } from './half-made-inserts.ts'
import { InsertLogSync } from './insert-log-sync.ts'

let table: string
beforeEach(() => {
  table = mkdtempSync(join(tmpdir(), 'wellhead-half-made-'))
  mkdirSync(join(table, 'deduplication_logs'))
})
afterEach(() => rmSync(table, { recursive: true, force: true }))

const log = (number: number) => join(table, 'deduplication_logs', `deduplication_log_${number}.txt`)
const session = (answer: string) => ({ run: async () => ({ bytes: Buffer.from(answer) }) })
const active = (...parts: string[]) => session(`${parts.join('\n')}\n`)

test('an insert whose part is not there is half made, one that was merged since is not', async () => {
  expect(await isHalfMade(['20261115_3_3_0'], 'wellhead.edge_logs', active('20261115_1_2_1'))).toBe(true)
  expect(await isHalfMade(['20261115_3_3_0'], 'wellhead.edge_logs', active('20261115_1_4_1'))).toBe(false)
  expect(await isHalfMade(['20261115_3_3_0'], 'wellhead.edge_logs', active('20261114_1_4_1'))).toBe(true)
  expect(await isHalfMade([], 'wellhead.edge_logs', active())).toBe(false)
})

test('only what the log names since an insert began belongs to it', async () => {
  const logs = new InsertLogSync(10)
  const found = session(`${table}\n`)
  writeFileSync(log(1), '1\t20261115_1_1_0\tone\n')
  const mark = await logs.mark('edge_logs', found)
  expect(await logs.partsSince(mark, 'edge_logs', found)).toEqual([])
  appendFileSync(log(1), '1\t20261115_2_2_0\ttwo\n1\t20261115_3_3_0\tthree\n2\t20261115_3_3_0\tthree\n')
  expect(await logs.partsSince(mark, 'edge_logs', found)).toEqual(['20261115_2_2_0'])
  // The engine begins a new file now and then.
  writeFileSync(log(2), '1\t20261115_4_4_0\tfour\n')
  expect(await logs.partsSince(mark, 'edge_logs', found)).toEqual(['20261115_4_4_0'])
  await logs.sync('edge_logs', found)
})

test('an insert without a line in any log of its table is noticed, and a table without a log has none to miss', async () => {
  const logs = new InsertLogSync(10)
  const named = (...parts: string[]) => logs.names(parts, 'wellhead.edge_logs', session(`${table}\n`))
  expect(await named('20261115_1_1_0')).toBe(true)
  writeFileSync(log(1), '1\t20261115_1_1_0\tone\n')
  writeFileSync(log(2), '1\t20261115_2_2_0\ttwo\n')
  expect(await named('20261115_1_1_0', '20261115_2_2_0')).toBe(true)
  expect(await named('20261115_2_2_0', '20261115_3_3_0')).toBe(false)
  expect(await named('20261115_1_1')).toBe(false)
})
