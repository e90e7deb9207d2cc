import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take longest where the engine is emulated begin first, so that none of them runs alone at the end. */
const slow = [
  'console/console',
  'console/logs',
  'torture-disks',
  'service',
  'access',
  'torture-load',
  'engine/guards',
  'getting-started',
  'guides',
  'backup',
  'seed-sql',
  'caching',
  'logs',
  'openapi',
  'shared-catalog',
]

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) => {
      const rank = slow.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`))
      return rank >= 0 ? rank : moduleId.includes('/test/journeys/') ? slow.length : slow.length + 1
    }
    return [...files].sort((one, other) => rankOf(one) - rankOf(other))
  }
}

/**
 * Files share a worker and its modules; loading those anew for each file would take as long as running most of them.
 * Files that load others, to run them elsewhere as well, need modules of their own.
 */
const loadsOthers =
  process.env.WELLHEAD_TEST_LONG === '1' || Boolean(process.env.WELLHEAD_TEST_CLICKHOUSE_URL)
const unit = { name: 'unit', include: ['src/**/*.test.ts', 'console/**/*.test.ts'], isolate: false }
const journeys = { name: 'journeys', include: ['test/**/*.test.ts'], isolate: loadsOthers }

export default defineConfig({
  test: {
    projects: [unit, journeys].map((test) => ({ extends: true, test })),
    // An emulated engine takes a quarter of a minute to start; a native one a tenth of a second.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // A busy machine takes longer than the default second.
    expect: { poll: { timeout: 30_000 } },
    // One more than there are cores: a third of the time a journey waits for an engine to end, start or reach a limit.
    maxWorkers: availableParallelism() + 1,
    pool: 'forks',
    sequence: { sequencer: SlowFirst },
  },
})
