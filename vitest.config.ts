import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take longest where the engine is emulated begin first, so that none of them runs alone at the end. */
const slow = [
  'console',
  'torture-disks',
  'service',
  'access',
  'torture-load',
  'engine-guards',
  'getting-started',
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
      const rank = slow.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`))
      return rank >= 0 ? rank : moduleId.includes('/test/') ? slow.length : slow.length + 1
    }
    return [...files].sort((one, other) => rankOf(one) - rankOf(other))
  }
}

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'console/**/*.test.ts', 'test/**/*.test.ts'],
    // An emulated engine takes a quarter of a minute to start; a native one a tenth of a second.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    maxWorkers: 2,
    pool: 'forks',
    sequence: { sequencer: SlowFirst },
  },
})
