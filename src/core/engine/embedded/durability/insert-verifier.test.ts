import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { InsertVerifier, type PendingInsert } from './insert-verifier.ts'

let table: string
let verifier: InsertVerifier
beforeEach(() => {
  table = mkdtempSync(join(tmpdir(), 'wellhead-verifier-'))
  verifier = new InsertVerifier(10)
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
/** Every query has this result. */
const read =
  (result = table) =>
  async () =>
    result
const begin = async (directory = table) =>
  (await verifier.begin('wellhead.edge_logs', read(directory))) as PendingInsert
const confirm = (pending: PendingInsert) => verifier.confirm(pending, read())

describe('a successful insert', () => {
  test('is confirmed when its part has content and is in the log', async () => {
    writeFileSync(log(1), '1\t20261115_1_1_0\tone\n')
    part('20261115_1_1_0', 'sums')
    const unlogged = await begin()
    part('20261115_2_2_0', 'sums')
    expect(await confirm(unlogged)).toBe(false)
    const logged = await begin()
    part('20261115_3_3_0', 'sums')
    appendFileSync(log(1), '1\t20261115_3_3_0\tthree\n')
    expect(await confirm(logged)).toBe(true)
  })

  test('is confirmed by an older log entry, because inserts run concurrently', async () => {
    writeFileSync(log(1), '1\t20261115_1_1_0\tone\n')
    writeFileSync(log(2), '1\t20261115_2_2_0\ttwo\n')
    const pending = await begin()
    part('20261115_1_1_0', 'sums')
    expect(await confirm(pending)).toBe(true)
  })

  test('needs no log entry in a table without a log, but needs one in a log that begins meanwhile', async () => {
    const pending = await begin()
    part('20261115_1_1_0', 'sums')
    expect(await confirm(pending)).toBe(true)
    part('20261115_2_2_0', 'sums')
    writeFileSync(log(1), '1\t20261115_1_1_0\tone\n')
    expect(await confirm(pending)).toBe(false)
  })

  test('is not confirmed next to a new part without content, but a temporary part does not matter', async () => {
    part('20261115_2_2_0', 'sums')
    const pending = await begin()
    part('tmp_insert_20261115_3_3_0', '')
    part('20261115_4_4_0')
    part('20261115_2_4_1', 'sums')
    part('20261115_2_2_0_5', 'sums')
    expect(await confirm(pending)).toBe(true)
    part('20261115_1_1_0', '')
    expect(await confirm(pending)).toBe(false)
    expect(await confirm(await begin())).toBe(false)
  })

  test('is confirmed in the new directory of a table that was dropped and recreated', async () => {
    const dropped = join(table, 'dropped')
    mkdirSync(dropped)
    const pending = await begin(dropped)
    expect(pending.directory).toBe(dropped)
    rmSync(dropped, { recursive: true })
    await expect(verifier.confirm(pending, read(''))).rejects.toThrow('dropped during the insert')
    expect((await begin()).directory).toBe(table)
    writeFileSync(log(1), '')
    part('20261115_1_1_0', 'sums')
    expect(await confirm(pending)).toBe(false)
    part('20261115_2_2_0', 'sums')
    appendFileSync(log(1), '1\t20261115_2_2_0\ttwo\n')
    expect(await confirm(pending)).toBe(true)
  })
})

describe('a failed insert', () => {
  const isGone = (pending: PendingInsert, ...active: string[]) =>
    verifier.confirmFailed(pending, read(active.join('\n')))

  test.each([
    [false, 'is missing', '20261115_1_2_1'],
    [true, 'was merged into another', '20261115_1_4_1'],
    [false, 'has its numbers in another partition only', '20261114_1_4_1'],
  ])('left nothing: %s if its logged part %s', async (expected, _, active) => {
    writeFileSync(log(1), '')
    const pending = await begin()
    appendFileSync(log(1), '1\t20261115_3_3_0\tthree\n')
    expect(await isGone(pending, active)).toBe(expected)
  })

  test('is looked for in newer log entries only, across files', async () => {
    writeFileSync(log(1), '1\t20261115_1_1_0\tone\n')
    const pending = await begin()
    expect(await isGone(pending)).toBe(true)
    appendFileSync(log(1), '1\t20261115_2_2_0\ttwo\n1\t20261115_3_3_0\tthree\n2\t20261115_3_3_0\tthree\n')
    expect(await isGone(pending)).toBe(false)
    expect(await isGone(pending, '20261115_2_2_0')).toBe(true)
    writeFileSync(log(2), '1\t20261115_4_4_0\tfour\n')
    expect(await isGone(pending, '20261115_2_2_0')).toBe(false)
    expect(await isGone(pending, '20261115_2_2_0', '20261115_4_4_0')).toBe(true)
    // The engine removes its oldest files.
    rmSync(log(1))
    expect(await isGone(pending, '20261115_4_4_0')).toBe(true)
  })
})
