import { pino } from 'pino'
import { expect, test } from 'vitest'
import { manualTime } from '../../../test/support/manual-clock.ts'
import { scratchDirectory } from '../../../test/support/scratch.ts'
import type { Engine, InsertMark } from '../../core/engine/engine.ts'
import { unlimited } from './plan.ts'
import { ProjectUsage } from './project-usage.ts'
import { type PendingCounts, UsageJournal } from './usage-journal.ts'

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

test('a start counts the inserts that the engine stored before the service was killed, and no others', async () => {
  const directory = scratchDirectory()
  const stored = new Set<string>()
  const rows = new Map<string, number>()
  let isAway = false
  const engine = {
    insert: async (_: unknown, lines: Buffer) => {
      if (isAway) throw new Error('away')
      for (const line of lines.toString().trim().split('\n')) {
        const { project, writer, entries } = JSON.parse(line)
        rows.set(`${project} ${writer}`, entries)
      }
    },
    hasInserts: async ({ table }: InsertMark) => stored.has(table),
  } as unknown as Engine
  const open = async () => {
    const journal = new UsageJournal(directory.path)
    const log = pino({ level: 'silent' })
    const time = manualTime()
    const usage = new ProjectUsage({ engine, time, log, planOf: () => unlimited, shared: false, journal })
    await usage.open()
    return usage
  }
  const used = (project: string) =>
    [...rows].reduce((sum, [key, entries]) => sum + (key.startsWith(`${project} `) ? entries : 0), 0)
  const usage = await open()
  const begin = (table: string, project: string, entries: number): PendingCounts => {
    const counts = { counted: [{ count: usage.countOf(project), counts: { entries, bytes: 1 } }] }
    usage.pending.begin({ table, directory: '' }, [counts])
    return counts
  }
  const running = begin('stored', 'a', 1)
  begin('absent', 'a', 2)
  const acknowledged = begin('stored', 'a', 4)
  usage.stored(acknowledged.counted, acknowledged)
  const refused = begin('stored', 'a', 8)
  usage.pending.end([refused])
  const repeated = begin('stored', 'a', 16)
  repeated.isRepeated = true
  usage.stored(repeated.counted, repeated)
  // Both files are emptied meanwhile, and what is under way stays in one of them.
  for (const project of ['b', 'c', 'd']) {
    const counted = [{ count: usage.countOf(project), counts: { entries: 1, bytes: 1 } }]
    usage.stored(counted)
    isAway = project === 'b'
    await usage.flush().catch(() => {})
  }
  isAway = false
  begin('stored', 'e', 32)
  expect([used('a'), used('e')]).toEqual([4, 0])
  stored.add('stored')
  for (const _ of ['after the crash', 'after another one']) {
    await (await open()).stop()
    expect([used('a'), used('b'), used('c'), used('d'), used('e')]).toEqual([5, 1, 1, 1, 32])
  }
  expect(running.place).toBeDefined()
  directory.remove()
})
