import { expect, test } from 'vitest'
import { manualTime } from '../../../test/support/manual-clock.ts'
import { createLog } from '../../core/base/log.ts'
import { Audit } from './audit.ts'

/** An audit whose entries are stored here, each group as a list. */
function open() {
  const time = manualTime()
  const groups: string[][] = []
  let isBroken = false
  const audit = new Audit({
    ...{ catalog: undefined as never, engine: undefined as never, clock: time.wall, after: time.after },
    ...{ log: createLog('silent'), retentionDays: () => 90, dataDir: '' },
    actorOf: (id) => ({ type: 'token', id, name: '' }),
    store: async (lines) => {
      if (isBroken) throw new Error('The disk is full.')
      const acts = lines.toString().trim().split('\n')
      groups.push(
        acts.map((line) => {
          const { address, count } = JSON.parse(line).metadata
          return `${address} ${count}`
        }),
      )
    },
  })
  const refuse = (address: string) =>
    audit.refuse('token.sign_in_refused', '', { id: '', address, requestId: 'r', isAdmin: false })
  return { audit, time, groups, refuse, setBroken: (value: boolean) => (isBroken = value) }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

test('stores refusals in groups, and repeated ones as one entry with a count', async () => {
  const { audit, time, groups, refuse } = open()
  for (const address of ['a', 'b', 'a', 'a']) refuse(address)
  expect(groups).toEqual([])
  time.advance(5_000)
  await settled()
  refuse('a')
  await audit.stop()
  time.advance(60_000)
  expect(groups).toEqual([['a 3', 'b 1'], ['a 1']])
})

test('keeps refusals that could not be stored, and adds later ones', async () => {
  const { time, groups, refuse, setBroken } = open()
  setBroken(true)
  refuse('a')
  time.advance(5_000)
  await settled()
  refuse('a')
  setBroken(false)
  time.advance(5_000)
  await settled()
  expect(groups).toEqual([['a 2']])
})

test('has one entry for the refusals of further addresses beyond the maximum', async () => {
  const { audit, groups, refuse } = open()
  for (let n = 0; n < 3_000; n++) refuse(`a${n}`)
  refuse('a5')
  await audit.stop()
  const [group = []] = groups
  expect([group.length, group[5], group.at(-1)]).toEqual([1_001, 'a5 2', 'a1000 2000'])
})
