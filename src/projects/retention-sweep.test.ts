import { pino } from 'pino'
import { expect, test } from 'vitest'
import { systemTime } from '../base/clock.ts'
import { singleServer } from '../engine/cluster/topology.ts'
import type { Engine } from '../engine/engine.ts'
import { planShape } from './plan.ts'
import { startRetentionSweep } from './retention-sweep.ts'

test('a stop waits for one source, not for all', async () => {
  const counted: string[] = []
  let stopped: Promise<void> | undefined
  const engine = {
    query: async ({ sql }: { sql: string }) => {
      const source = /^SELECT count\(\) FROM `(\w+)`/.exec(sql)?.[1]
      if (source !== undefined) {
        counted.push(source)
        stopped = sweep.stop()
      }
      return { body: Buffer.from(source === undefined ? '' : '0') }
    },
  } as unknown as Engine
  const sweep = startRetentionSweep({
    ...{ engine, time: systemTime(), log: pino({ level: 'silent' }) },
    topology: () => singleServer('wellhead'),
    plans: () => [planShape.parse({ name: 'short', retention_days: 1 })],
    sources: () => ['one', 'two', 'three'].map((name) => ({ name, retention_days: 7 })),
  })
  await expect.poll(() => counted).not.toEqual([])
  await stopped
  expect(counted).toEqual(['one'])
})
