import { getEventListeners } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { manualTime } from '../../../test/support/manual-clock.ts'
import { withDeadline } from './clock.ts'

/** How much a signal holds: its listeners, and the signals that follow it, which are in a set of Node's own. */
function heldBy(signal: AbortSignal): number {
  const holder = signal as unknown as Record<symbol, { size?: number } | undefined>
  const sizes = Object.getOwnPropertySymbols(signal).map((symbol) => holder[symbol]?.size ?? 0)
  return sizes.reduce((sum, size) => sum + size, getEventListeners(signal, 'abort').length)
}

test('nothing stays registered on a long-lived signal', async () => {
  const { signal } = new AbortController()
  for (let n = 0; n < 1000; n++) {
    const work = async () => {
      if (n % 2 === 0) throw new Error('no')
    }
    await withDeadline(60_000, signal, work).catch(() => {})
  }
  expect(heldBy(signal)).toBe(0)
  const dependents = Array.from({ length: 3 }, () => AbortSignal.any([signal]))
  expect([heldBy(signal), dependents.length]).toEqual([3, 3])
})

test('the work is aborted by the other signal, or when the time is over, whichever is first', async () => {
  const time = manualTime()
  const reasonOf = (signal: AbortSignal) =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason)))
  const late = withDeadline(10_000, undefined, reasonOf, time)
  time.advance(10_000)
  expect(await late).toMatchObject({ name: 'TimeoutError' })
  const outer = new AbortController()
  const left = withDeadline(10_000, outer.signal, reasonOf, time)
  outer.abort('left')
  expect(await left).toBe('left')
  expect(await withDeadline(1, outer.signal, async ({ aborted }) => aborted, time)).toBe(true)
})

test('no other code combines signals, or relies on a timeout that only a signal holds', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) =>
    /(?<!\.test)\.ts$/.test(file),
  )
  expect(files.length).toBeGreaterThan(100)
  const careless = files.filter((file) =>
    /AbortSignal\.(?:any|timeout)\(/.test(readFileSync(`src/${file}`, 'utf8')),
  )
  expect(careless).toEqual([])
})
