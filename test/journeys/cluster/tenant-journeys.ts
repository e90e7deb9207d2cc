import { afterAll, beforeAll } from 'vitest'
import { systemTime } from '../../../src/core/base/clock.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { attackJourneys } from '../access/attack.ts'
import { sandboxJourneys } from '../access/sandbox.ts'
import { tenantJourneys } from '../access/tenant.ts'

const clock = manualClock(Date.UTC(2026, 10, 14, 12, 30, 15))
let service: RunningService
beforeAll(async () => {
  service = await openService({ time: systemTime(clock) })
})
afterAll(() => service?.close())

attackJourneys(() => service, clock, { onlyData: true })
sandboxJourneys(() => service, clock)
tenantJourneys(() => service, clock)
