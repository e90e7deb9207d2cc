import { afterAll, beforeAll } from 'vitest'
import { systemTime } from '../../../src/core/base/clock.ts'
import { emulated } from '../../support/engines.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { attackJourneys } from './attack.ts'
import { deploymentJourneys } from './deployment.ts'
import { endpointManagementJourneys } from './endpoint-management.ts'
import { replayJourneys } from './replay.ts'
import { routeMatrix } from './route-matrix.ts'
import { sandboxJourneys } from './sandbox.ts'
import { statusJourneys } from './status.ts'
import { tenantJourneys } from './tenant.ts'
import { tokenJourneys } from './token.ts'

/** All journeys share one service and create their own tokens and endpoints. */
const clock = manualClock(Date.UTC(2026, 10, 14, 12, 30, 15))
const authFailuresPerMinute = 600
let service: RunningService
beforeAll(async () => {
  service = await openService({
    engine: 'embedded',
    time: systemTime(clock),
    environment: {
      // The route matrix sends many invalid tokens while the clock stands still.
      WELLHEAD_AUTH_FAILURES_PER_MINUTE: String(authFailuresPerMinute),
      // How much longer a query may run that ignores its time limit.
      WELLHEAD_ENGINE_PATIENCE: emulated ? '4' : '2',
    },
  })
})
afterAll(() => service?.close())

tokenJourneys(() => service, clock, authFailuresPerMinute)
endpointManagementJourneys(() => service)
deploymentJourneys(() => service)
routeMatrix(() => service)
statusJourneys(() => service)
attackJourneys(() => service, clock)
sandboxJourneys(() => service, clock)
replayJourneys(() => service, clock)
// Last, because it keeps the engine busy.
tenantJourneys(() => service, clock)
