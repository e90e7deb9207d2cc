import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { markInsertLogsSynced, setUnansweredInsertsAside } from './unanswered-inserts.ts'

let store: string
let table: string
beforeEach(() => {
  store = mkdtempSync(join(tmpdir(), 'wellhead-unanswered-'))
  table = join(store, 'store', 'a32', 'a3252f85-25d4-4680-b945-8624f35cf2d2')
  mkdirSync(join(table, 'deduplication_logs'), { recursive: true })
})
afterEach(() => rmSync(store, { recursive: true, force: true }))

const log = (number: number) => join(table, 'deduplication_logs', `deduplication_log_${number}.txt`)
const parts = (...names: string[]) => names.map((name) => mkdirSync(join(table, name)))
const present = () =>
  readdirSync(table)
    .filter((name) => /^\d/.test(name))
    .sort()

test('rows whose token a power cut took are put aside, and no others', () => {
  parts('20261115_1_4_1', '20261115_5_5_0', '20261115_6_6_0_9', '20261114_7_7_0', '20261115_8_9_1')
  writeFileSync(log(1), '1\t20261115_4_4_0\tfour\n')
  writeFileSync(log(2), '1\t20261115_5_5_0\tfive\n1\t20261115_6_6_0\tsi')
  markInsertLogsSynced(store)
  expect(setUnansweredInsertsAside(store)).toBe(2)
  // A merged part has rows of inserts that were answered, whatever else is in it.
  expect(present()).toEqual(['20261115_1_4_1', '20261115_5_5_0', '20261115_8_9_1'])
  expect(readdirSync(join(table, 'detached')).sort()).toEqual([
    'unanswered_20261114_7_7_0',
    'unanswered_20261115_6_6_0_9',
  ])
  expect(setUnansweredInsertsAside(store)).toBe(0)
})

test('zeros and half a line at the end of a log are removed', () => {
  parts('20261115_1_1_0')
  markInsertLogsSynced(store)
  writeFileSync(log(1), '1\t20261115_1_1_0\tone\n1\t20261115_2_2_0\ttw')
  appendFileSync(log(1), Buffer.alloc(20))
  expect(setUnansweredInsertsAside(store)).toBe(0)
  expect(readFileSync(log(1), 'utf8')).toBe('1\t20261115_1_1_0\tone\n')
})

test('what was written before tokens were synced is left alone', () => {
  parts('20261115_1_1_0')
  writeFileSync(log(1), '')
  expect(setUnansweredInsertsAside(store)).toBe(0)
  expect(present()).toEqual(['20261115_1_1_0'])
})
