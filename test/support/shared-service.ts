import { test } from 'vitest'
import { openService, type RunningService } from './service.ts'

/** Pages of this origin may send requests to the shared service. */
export const sharedOrigin = 'https://app.example.com'

/** For statistics, for requests of pages, for alerts that call a receiver of the test, and for the sign-ins of all journeys. */
const environment = {
  WELLHEAD_STATISTICS: 'on',
  WELLHEAD_CORS_ORIGINS: sharedOrigin,
  WELLHEAD_ALERT_HOSTS: '127.0.0.1',
  WELLHEAD_AUTH_FAILURES_PER_MINUTE: '1000',
}

/**
 * Opens something once per worker, for a fixture. Vitest would do so for the fixture and again for each fixture that
 * extends it.
 */
export function oncePerWorker<T>(open: () => Promise<T>, close: (opened: T) => Promise<void>) {
  let opened: Promise<T> | undefined
  return (onCleanup: (cleanup: () => Promise<void>) => void): Promise<T> => {
    if (opened === undefined) {
      const opening = open()
      opened = opening
      onCleanup(async () => close(await opening))
    }
    return opened
  }
}

const openShared = oncePerWorker(
  () => openService({ engine: 'embedded', environment }),
  (service) => service.close(),
)

export const inWorker = test.extend(
  'shared',
  { scope: 'worker' },
  // biome-ignore lint/correctness/noEmptyPattern: Vitest reads from the pattern what a fixture uses.
  ({}, { onCleanup }): Promise<RunningService> => openShared(onCleanup),
)

/**
 * One service for all files of a worker that need no settings or clock of their own, with an embedded engine. What a
 * file creates needs names, projects or sources of its own, and other files may have filled any list.
 */
export function sharedService(begin: (service: RunningService) => void | Promise<void>): void {
  inWorker.beforeAll(({ shared }) => begin(shared))
}
