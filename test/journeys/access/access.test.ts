import { afterAll, beforeAll } from 'vitest'
import { manualClock, systemTime } from '../../../src/base/clock.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { attackJourneys } from './attack.ts'
import { deploymentJourneys } from './deployment.ts'
import { managingJourneys } from './managing.ts'
import { routeMatrix } from './route-matrix.ts'
import { sandboxJourneys } from './sandbox.ts'
import { statusJourneys } from './status.ts'
import { tenantJourneys } from './tenant.ts'
import { tokenJourneys } from './token.ts'

/** One service for all of them: each makes the tokens and endpoints that it uses. */
const clock = manualClock(Date.UTC(2026, 10, 14, 12, 30, 15))
const authFailuresPerMinute = 600
let service: RunningService
beforeAll(async () => {
  // The matrix of routes and callers sends many wrong tokens while the clock stands still.
  service = await openService({
    time: systemTime(clock),
    environment: { WELLHEAD_AUTH_FAILURES_PER_MINUTE: String(authFailuresPerMinute) },
  })
})
afterAll(() => service?.close())

tokenJourneys(() => service, clock, authFailuresPerMinute)
managingJourneys(() => service)
deploymentJourneys(() => service)
routeMatrix(() => service)
statusJourneys(() => service)
attackJourneys(() => service, clock)
sandboxJourneys(() => service, clock)
// Last, since it keeps the engine busy.
tenantJourneys(() => service, clock)
