import { describe, expect, test } from 'vitest'
import type { ManualClock } from '../../src/base/clock.ts'
import { ask, makeToken } from './callers.ts'
import type { RunningService } from './service.ts'

export function tenantJourneys(running: () => RunningService, clock: ManualClock): void {
  describe('tenants', () => {
    test.todo(`${clock.now()} ${typeof running} ${typeof ask} ${typeof makeToken} ${typeof expect}`)
  })
}
