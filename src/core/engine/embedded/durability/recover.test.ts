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
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { recover } from './recover.ts'

let store: string
let table: string
beforeEach(() => {
  store = mkdtempSync(join(tmpdir(), 'wellhead-recover-'))
  table = join(store, 'store', 'a32', 'a3252f85-25d4-4680-b945-8624f35cf2d2')
})
afterEach(() => rmSync(store, { recursive: true, force: true }))

const log = (number: number) => {
  mkdirSync(join(table, 'deduplication_logs'), { recursive: true })
  return join(table, 'deduplication_logs', `deduplication_log_${number}.txt`)
}
const part = (name: string, checksums?: string) => {
  mkdirSync(join(table, name), { recursive: true })
  if (checksums !== undefined) writeFileSync(join(table, name, 'checksums.txt'), checksums)
}
const present = () =>
  readdirSync(table)
    .filter((name) => /^\d/.test(name))
    .sort()
const detached = () => readdirSync(join(table, 'detached')).sort()

test('moves parts without content to the detached parts', async () => {
  part('20261115_1_1_0', 'sums')
  part('20261115_2_2_0', '')
  part('20261115_1_2_1', '')
  part('detached')
  await recover(store)
  expect(present()).toEqual(['20261115_1_1_0'])
  expect(detached()).toEqual(['empty_20261115_1_2_1', 'empty_20261115_2_2_0'])
})

test('removes empty indexes of words from parts with rows, with their checksums', async () => {
  const whole = { 'count.txt': '2', 'skp_idx__text.idx': '', 'skp_idx__text.cmrk4': '' }
  const parts: Record<string, Record<string, string>> = {
    '20261115_1_2_1': { ...whole, 'data.bin': 'rows' },
    '20261115_3_4_1': { ...whole, 'timestamp.bin': 'rows' },
    '20261115_5_6_1': { ...whole, 'data.bin': 'rows', 'skp_idx__text.idx': 'words' },
    '20261115_7_7_1': { ...whole, 'data.bin': '', 'count.txt': '0' },
  }
  for (const [name, files] of Object.entries(parts)) {
    part(name, 'sums')
    for (const [file, text] of Object.entries(files)) writeFileSync(join(table, name, file), text)
  }
  await recover(store)
  const left = Object.keys(parts).map((name) => readdirSync(join(table, name)).sort())
  const untouched = ['checksums.txt', 'count.txt', 'data.bin', 'skp_idx__text.cmrk4', 'skp_idx__text.idx']
  expect(left).toEqual([['count.txt', 'data.bin'], ['count.txt', 'timestamp.bin'], untouched, untouched])
})

test('removes the tokens of inserts whose rows are missing, and keeps all others', async () => {
  for (const name of ['20261115_1_1_0', '20261115_2_5_1', '20261114_9_9_0_12', 'detached']) part(name)
  part('tmp_insert_20261115_6_6_0')
  writeFileSync(log(9), '1\t20261115_1_1_0\tone\n1\t20261115_3_3_0\tmerged\n1\t20261114_9_9_0\tmutated\n')
  writeFileSync(log(10), '1\t20261115_6_6_0\tlost\n1\t20261114_3_3_0\tother day\n1\t20261115_8_8_0\tgo')
  await recover(store)
  const lines = readFileSync(log(10), 'utf8').split('\n')
  expect(lines.slice(2)).toEqual(['2\t20261115_6_6_0\tlost', '2\t20261114_3_3_0\tother day', ''])
  await recover(store)
  expect(readFileSync(log(10), 'utf8').split('\n')).toEqual(lines)
})

test('removes zeros and half a line from the end of a log', async () => {
  part('20261115_1_1_0')
  writeFileSync(log(1), '1\t20261115_1_1_0\tone\n1\t20261115_2_2_0\ttw')
  appendFileSync(log(1), Buffer.alloc(20))
  await recover(store)
  expect(readFileSync(log(1), 'utf8')).toBe('1\t20261115_1_1_0\tone\n')
})

test('creates a store that no engine has used yet', async () => {
  await recover(join(store, 'new'))
  expect(readdirSync(join(store, 'new'))).toEqual(['insert-logs-are-synced'])
})

describe('rows without a token', () => {
  test('are moved to the detached parts, unless they were merged with others', async () => {
    await recover(store)
    const merged = ['20261115_1_4_1', '20261115_8_9_1']
    for (const name of [...merged, '20261115_5_5_0', '20261115_6_6_0_9', '20261114_7_7_0']) part(name)
    writeFileSync(log(1), '1\t20261115_4_4_0\tfour\n')
    writeFileSync(log(2), '1\t20261115_5_5_0\tfive\n1\t20261115_6_6_0\tsi')
    await recover(store)
    expect(present()).toEqual(['20261115_1_4_1', '20261115_5_5_0', '20261115_8_9_1'])
    expect(detached()).toEqual(['unanswered_20261114_7_7_0', 'unanswered_20261115_6_6_0_9'])
  })

  test('are moved there also if they were merged, from the parts before the merge', async () => {
    await recover(store)
    const rows = { '1_4_1': 40, '5_5_0': 3, '6_6_0': 2, '5_6_1': 5, '1_6_2': 45, '7_8_1': 9, '7_7_0': 4 }
    for (const [name, count] of Object.entries(rows)) {
      part(`20261115_${name}`)
      writeFileSync(join(table, `20261115_${name}`, 'count.txt'), String(count))
    }
    writeFileSync(log(1), '1\t20261115_4_4_0\tfour\n1\t20261115_5_5_0\tfive\n')
    await recover(store)
    // Of 7_8_1, a source is gone.
    expect(present()).toEqual(['20261115_1_4_1', '20261115_5_5_0', '20261115_7_8_1'])
    expect(detached()).toEqual([
      ...['unanswered_20261115_6_6_0', 'unanswered_20261115_7_7_0'],
      ...['undone_20261115_1_6_2', 'undone_20261115_5_6_1'],
    ])
  })

  test('stay where inserts were confirmed before tokens were synced', async () => {
    part('20261115_1_1_0')
    writeFileSync(log(1), '')
    await recover(store)
    expect(present()).toEqual(['20261115_1_1_0'])
  })
})
