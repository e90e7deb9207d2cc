import { test } from 'vitest'
import { openService, type RunningService } from './service.ts'

/** Pages of this origin may send requests to the shared service. */
export const sharedOrigin = 'https://app.example.com'

const inWorker = test.extend(
  'shared',
  { scope: 'worker' },
  // biome-ignore lint/correctness/noEmptyPattern: Vitest reads from the pattern what a fixture uses.
  async ({}, { onCleanup }): Promise<RunningService> => {
    const environment = { WELLHEAD_STATISTICS: 'on', WELLHEAD_CORS_ORIGINS: sharedOrigin }
    const service = await openService({ environment })
    onCleanup(() => service.close())
    return service
  },
)

/**
 * One service for all files of a worker that need no settings or clock of their own, with an embedded engine. What a
 * file creates needs names, projects or sources of its own, and other files may have filled any list.
 */
export function sharedService(begin: (service: RunningService) => void | Promise<void>): void {
  inWorker.beforeAll(({ shared }) => begin(shared))
}
