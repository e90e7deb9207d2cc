import { expect, test } from 'vitest'
import { isHalfMade } from './half-made-inserts.ts'

const session = (answer: string) => ({ run: async () => ({ bytes: Buffer.from(answer) }) })
const active = (...parts: string[]) => session(`${parts.join('\n')}\n`)

test('an insert whose part is not there is half made, one that was merged since is not', async () => {
  expect(await isHalfMade(['20261115_3_3_0'], 'wellhead.edge_logs', active('20261115_1_2_1'))).toBe(true)
  expect(await isHalfMade(['20261115_3_3_0'], 'wellhead.edge_logs', active('20261115_1_4_1'))).toBe(false)
  expect(await isHalfMade(['20261115_3_3_0'], 'wellhead.edge_logs', active('20261114_1_4_1'))).toBe(true)
  expect(await isHalfMade([], 'wellhead.edge_logs', active())).toBe(false)
})
