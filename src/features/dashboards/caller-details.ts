import { z } from 'zod'
import type { Endpoints } from '../../core/endpoints/manage/endpoints.ts'
import type { CallerDetails } from '../../core/http/routes/access/whoami.ts'
import { type Dashboards, maySee } from './dashboard-kind.ts'

export function dashboardDetails(dashboards: Dashboards, endpoints: Endpoints): CallerDetails {
  return {
    shape: { dashboards: z.boolean().describe('Whether there are dashboards that the token can see.') },
    of: (caller) => ({
      dashboards:
        caller.role !== undefined ||
        dashboards.list().some((dashboard) => maySee(caller, dashboard, endpoints)),
    }),
  }
}
