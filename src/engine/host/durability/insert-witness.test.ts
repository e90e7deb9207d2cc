import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type BegunInsert, InsertWitness } from './insert-witness.ts'

let table: string
let witness: InsertWitness
beforeEach(() => {
  table = mkdtempSync(join(tmpdir(), 'wellhead-witness-'))
  witness = new InsertWitness(10)
})
afterEach(() => rmSync(table, { recursive: true, force: true }))

const log = (number: number) => {
  mkdirSync(join(table, 'deduplication_logs'), { recursive: true })
  return join(table, 'deduplication_logs', `deduplication_log_${number}.txt`)
}
const part = (name: string, sums?: string) => {
  mkdirSync(join(table, name))
  if (sums !== undefined) writeFileSync(join(table, name, 'checksums.txt'), sums)
}
const session = (directory = table) => ({ run: async () => ({ bytes: Buffer.from(`${directory}\n`) }) })
const begin = async (directory = table) =>
  (await witness.begin('edge_logs', session(directory))) as BegunInsert
const confirm = (begun: BegunInsert) => witness.confirm(begun, session())

test('an insert is confirmed when its part has content and its line is in the log', async () => {
  writeFileSync(log(1), '1\t20261115_1_1_0\tone\n')
  part('20261115_1_1_0', 'sums')
  const begun = await begin()
  part('20261115_2_2_0', 'sums')
  expect(await confirm(begun)).toBe(false)
  const again = await begin()
  part('20261115_3_3_0', 'sums')
  appendFileSync(log(1), '1\t20261115_3_3_0\tthree\n')
  expect(await confirm(again)).toBe(true)
})

test('a line that is older than the insert counts, since others insert at the same time', async () => {
  writeFileSync(log(1), '1\t20261115_1_1_0\tone\n')
  writeFileSync(log(2), '1\t20261115_2_2_0\ttwo\n')
  const begun = await begin()
  part('20261115_1_1_0', 'sums')
  expect(await confirm(begun)).toBe(true)
})

test('the first insert of a table is held to the log that it began, and a table without a log has none', async () => {
  const begun = await begin()
  part('20261115_1_1_0', 'sums')
  expect(await confirm(begun)).toBe(true)
  part('20261115_2_2_0', 'sums')
  writeFileSync(log(1), '1\t20261115_1_1_0\tone\n')
  expect(await confirm(begun)).toBe(false)
})

test('a new part without content is noticed, whatever its number, and one that is being made is not', async () => {
  part('20261115_2_2_0', 'sums')
  const begun = await begin()
  part('tmp_insert_20261115_3_3_0', '')
  part('20261115_4_4_0')
  part('20261115_2_4_1', 'sums')
  part('20261115_2_2_0_5', 'sums')
  expect(await confirm(begun)).toBe(true)
  part('20261115_1_1_0', '')
  expect(await confirm(begun)).toBe(false)
  expect(await confirm(await begin())).toBe(false)
})

test('only what the log names since an insert began belongs to it, also in a new file', async () => {
  writeFileSync(log(1), '1\t20261115_1_1_0\tone\n')
  const begun = await begin()
  expect(await witness.partsSince(begun)).toEqual([])
  appendFileSync(log(1), '1\t20261115_2_2_0\ttwo\n1\t20261115_3_3_0\tthree\n2\t20261115_3_3_0\tthree\n')
  expect(await witness.partsSince(begun)).toEqual(['20261115_2_2_0'])
  writeFileSync(log(2), '1\t20261115_4_4_0\tfour\n')
  expect(await witness.partsSince(begun)).toEqual(['20261115_2_2_0', '20261115_4_4_0'])
  // The engine removes its oldest files.
  rmSync(log(1))
  expect(await witness.partsSince(begun)).toEqual(['20261115_4_4_0'])
})

test('a table that was dropped and made again is looked at where it is now', async () => {
  const begun = await begin(join(table, 'dropped'))
  expect(begun.directory).toBe(join(table, 'dropped'))
  expect((await begin()).directory).toBe(table)
})

test('an insert into a table that is dropped meanwhile is confirmed only where the table was made again', async () => {
  const dropped = join(table, 'dropped')
  mkdirSync(dropped)
  const begun = await begin(dropped)
  rmSync(dropped, { recursive: true })
  await expect(witness.confirm(begun, session(''))).rejects.toThrow('dropped during the insert')
  writeFileSync(log(1), '')
  part('20261115_1_1_0', 'sums')
  expect(await confirm(begun)).toBe(false)
  part('20261115_2_2_0', 'sums')
  appendFileSync(log(1), '1\t20261115_2_2_0\ttwo\n')
  expect(await confirm(begun)).toBe(true)
})
