import { expect, test } from 'vitest'
import { ProjectGate } from './project-gate.ts'

const linesOf = (...projects: string[]) => {
  const lines = projects.map((project) => `{"project":"${project}"}\n`)
  let end = 0
  return {
    bytes: Buffer.from(lines.join('')),
    ends: Uint32Array.from(lines, ({ length }) => (end += length)),
  }
}
const batchOf = (lines: string[], quarantine: string[] = []) => [
  { lines: linesOf(...lines), quarantine: linesOf(...quarantine) },
]
/** Whether it is resolved when nothing else is left to do. */
const isResolved = async (promise: Promise<unknown>) => {
  const later = new Promise<false>((resolve) => setImmediate(() => resolve(false)))
  return Promise.race([promise.then(() => true), later])
}

test.each([
  ['an entry', batchOf(['other', 'held'])],
  ['a rejected entry', batchOf([], ['held'])],
  ['a rejected entry that may name any project', batchOf([], [''])],
])('waits for requests with %s of the project, and lets later ones wait', async (_, batches) => {
  const gate = new ProjectGate()
  const leave = await gate.enter(batches)
  const hold = gate.hold(new Set(['held']))
  expect(await isResolved(hold)).toBe(false)
  const later = gate.enter(batches)
  leave()
  const release = await hold
  expect(await isResolved(later)).toBe(false)
  release()
  expect(await isResolved(later)).toBe(true)
})

test('lets requests of other projects pass', async () => {
  const gate = new ProjectGate()
  await gate.enter(batchOf(['other']))
  const hold = gate.hold(new Set(['held']))
  expect(await isResolved(hold)).toBe(true)
  expect(await isResolved(gate.enter(batchOf(['other', 'another'])))).toBe(true)
})
