import { pino } from 'pino'
import { expect, test } from 'vitest'
import { manualTime } from '../../../test/support/manual-clock.ts'
import type { CatalogRecord } from '../../core/catalog/catalog-state.ts'
import { singleServer } from '../../core/engine/cluster/topology.ts'
import type { Engine } from '../../core/engine/engine.ts'
import { checkEveryMs, startRetentionSweep } from './retention-sweep.ts'

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
  const time = manualTime()
  const definition = { name: 'short', retention_days: 1 }
  const planRecord: CatalogRecord = {
    ...{ kind: 'plan', id: 'one', version: 1, deleted: false, entry: '', changed_by: '' },
    ...{ body: { definition }, changed_at: '2020-01-01T00:00:00Z', address: '', request_id: '' },
  }
  const sweep = startRetentionSweep({
    ...{ engine, time, log: pino({ level: 'silent' }) },
    topology: () => singleServer('wellhead'),
    plans: async () => [planRecord],
    deleteAfterMs: 0,
    sources: () => ['one', 'two', 'three'].map((name) => ({ name, retention_days: 7 })),
  })
  await expect
    .poll(() => {
      time.advance(checkEveryMs)
      return counted
    })
    .not.toEqual([])
  await stopped
  expect(counted).toEqual(['one'])
})
