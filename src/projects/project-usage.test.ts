import { pino } from 'pino'
import { expect, test } from 'vitest'
import { manualTime } from '../../test/support/manual-clock.ts'
import { scratchDirectory } from '../../test/support/scratch.ts'
import type { Engine } from '../engine/engine.ts'
import { unlimited } from './plan.ts'
import { ProjectUsage } from './project-usage.ts'
import { UsageJournal } from './usage-journal.ts'

test('each report is stored although storing an earlier one takes long', async () => {
  const time = manualTime()
  const engine = { insert: async () => {} } as unknown as Engine
  const log = pino({ level: 'silent' })
  const directory = scratchDirectory()
  const journal = new UsageJournal(directory.path)
  const usage = new ProjectUsage({ engine, time, log, planOf: () => unlimited, shared: false, journal })
  const storing: { limit: string; resolve: () => void }[] = []
  usage.storeReports((_, token) => {
    const limit = (JSON.parse(token) as string[])[3] as string
    return new Promise((resolve) => storing.push({ limit, resolve }))
  })
  const report = (limit: 'entries_per_day' | 'bytes_per_day') =>
    usage.report(usage.countOf('demo'), {
      day: '2026-11-19',
      project: 'demo',
      plan: 'FREE',
      limit,
      percent: 80,
      used: 8,
      max: 10,
    })
  const runs = (count: number) =>
    expect
      .poll(() => {
        time.advance(100)
        return storing.map(({ limit }) => limit)
      })
      .toHaveLength(count)

  report('entries_per_day')
  await runs(1)
  // Other counts begin another run meanwhile.
  usage.stored([{ count: usage.countOf('demo'), counts: { entries: 1, bytes: 1 } }])
  await runs(2)
  storing[0]?.resolve()
  await Promise.resolve()
  report('bytes_per_day')
  storing[1]?.resolve()
  await runs(3)
  expect(storing.map(({ limit }) => limit)).toEqual(['entries_per_day', 'entries_per_day', 'bytes_per_day'])
  directory.remove()
})
