import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { forgetLostInserts } from './lost-inserts.ts'

let store: string
let table: string
beforeEach(() => {
  store = mkdtempSync(join(tmpdir(), 'wellhead-lost-'))
  table = join(store, 'store', 'a32', 'a3252f85-25d4-4680-b945-8624f35cf2d2')
  mkdirSync(join(table, 'deduplication_logs'), { recursive: true })
})
afterEach(() => rmSync(store, { recursive: true, force: true }))

const log = (number: number) => join(table, 'deduplication_logs', `deduplication_log_${number}.txt`)
const parts = (...names: string[]) => names.map((name) => mkdirSync(join(table, name)))

test('a token whose rows are not there is forgotten, others are kept', () => {
  parts('20261115_1_1_0', '20261115_2_5_1', '20261114_9_9_0_12', 'tmp_insert_20261115_6_6_0', 'detached')
  writeFileSync(log(9), '1\t20261115_1_1_0\tone\n1\t20261115_3_3_0\tmerged\n1\t20261114_9_9_0\tmutated\n')
  writeFileSync(log(10), '1\t20261115_6_6_0\tlost\n1\t20261114_3_3_0\tother day\n1\t20261115_8_8_0\tgo')
  expect(forgetLostInserts(store)).toBe(2)
  // What was left of a line is gone: the engine could not open the table with it.
  expect(readFileSync(log(10), 'utf8').split('\n').slice(2)).toEqual([
    '2\t20261115_6_6_0\tlost',
    '2\t20261114_3_3_0\tother day',
    '',
  ])
  expect(forgetLostInserts(store)).toBe(0)
})

test('a directory that no engine has used yet is left as it is', () => {
  expect(forgetLostInserts(join(store, 'nothing'))).toBe(0)
  expect(forgetLostInserts(store)).toBe(0)
})
