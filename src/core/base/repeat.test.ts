import { expect, test } from 'vitest'
import { manualTime } from '../../../test/support/manual-clock.ts'
import { repeat } from './repeat.ts'

test('work is repeated with a pause after each run, and the first of several failures is reported', async () => {
  const time = manualTime()
  const done: string[] = []
  const outcomes = ['ok', 'failed', 'failed again', 'ok', 'failed later', 'ok']
  const repeated = repeat({
    time,
    everyMs: 1_000,
    atOnce: true,
    work: async () => {
      const outcome = outcomes[done.length] as string
      done.push(outcome)
      if (outcome !== 'ok') throw new Error(outcome)
    },
    onFailure: (error) => reported.push((error as Error).message),
  })
  const reported: string[] = []
  expect(done).toEqual(['ok'])
  for (let runs = 2; runs <= 5; runs++) {
    await expect
      .poll(() => {
        time.advance(1_000)
        return done.length
      })
      .toBeGreaterThanOrEqual(runs)
  }
  await repeated.stop()
  const runs = done.length
  time.advance(5_000)
  expect(done).toHaveLength(runs)
  expect(reported).toEqual(['failed', 'failed later'])
})
