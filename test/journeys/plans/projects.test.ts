import { afterAll, beforeAll } from 'vitest'
import { hurriedTime } from '../../support/hurried-time.ts'
import { openService, type RunningService } from '../../support/service.ts'
import { erasureJourneys } from '../erasure/erasures.ts'
import { planJourneys } from './plans.ts'
import { usageJourneys } from './usage.ts'

const environment = {
  WELLHEAD_STATISTICS: 'on',
  WELLHEAD_PLAN_PARAMETER: 'project_tier',
  WELLHEAD_ALERT_HOSTS: '127.0.0.1',
}
let service: RunningService
beforeAll(async () => {
  service = await openService({ time: hurriedTime(), environment })
})
afterAll(() => service.close())

planJourneys(() => service)
usageJourneys(() => service)
erasureJourneys(() => service)
