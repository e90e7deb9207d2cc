import { availableParallelism, totalmem } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take longest begin first, so that none of them runs alone at the end. */
const slow = [
  'operating/image',
  'alerts/alerts',
  'operating/service',
  'logs/search',
  'operating/torture-disks',
  'logs/logs',
  'console/looks',
  'access/access',
  'plans/projects',
  'docs/performance-docs',
  'people/people',
  'operating/upgrade',
  'backup/copy',
  'backup/backup',
  'operating/torture-clients',
  'console/embedding',
  'engine/guards',
  'operating/torture-load',
  'operating/neighbors',
  'logs/own-logs',
  'console/overview',
  'supabase/logflare',
  'logs/logs-search',
  'console/alerts',
  'operating/package',
  'console/customers',
  'console/charts',
  'console/saving',
  'console/endpoint-page',
  'console/dashboards',
  'cluster/shards',
  'docs/openapi',
  'docs/getting-started',
  'console/people',
  'operating/nodes',
  'console/console',
  'access/sessions',
  'console/playground',
  'endpoints/endpoints',
  'tables/tables',
  'caching/caching',
  'console/tokens',
  'alerts/restart',
  'operating/shared-catalog',
  'cluster/cluster',
  'docs/walks',
  'plans/restart',
  'docs/guides',
  'console/editor',
  'console/client',
  'statistics/request-report',
  'caching/engine-down',
  'plans/services',
]

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) => {
      const rank = slow.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`))
      return rank >= 0 ? rank : moduleId.includes('/journeys/') ? slow.length : slow.length + 1
    }
    return [...files].sort(
      (one, other) => rankOf(one) - rankOf(other) || one.moduleId.localeCompare(other.moduleId),
    )
  }
}

/**
 * Two more than there are cores, because journeys wait for more than half of their time: for an engine to end or start, for a
 * page, for a limit. Each worker needs up to a gigabyte, with its engine and browser. VITEST_MAX_WORKERS sets another number.
 */
function workers(): number {
  return Math.max(1, Math.min(availableParallelism() + 2, Math.floor(totalmem() / 2 ** 30)))
}

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'console/**/*.test.ts', 'test/**/*.test.ts'],
    // Loading the modules anew for each file would take as long as running most of them.
    isolate: false,
    // An emulated engine takes a quarter of a minute to start; a native one a tenth of a second.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // A busy machine takes longer than the default second of `expect.poll` and `vi.waitFor`.
    expect: { poll: { timeout: 60_000 } },
    setupFiles: ['test/support/patience.ts'],
    maxWorkers: workers(),
    pool: 'forks',
    sequence: { sequencer: SlowFirst },
  },
})
