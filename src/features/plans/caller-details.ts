import { z } from 'zod'
import type { CallerDetails } from '../../core/http/routes/access/whoami.ts'
import { planShape } from './plan.ts'
import type { ProjectPlans } from './project-plans.ts'

const planView = z.object(planShape.shape)

export function planDetails(plans: ProjectPlans): CallerDetails {
  return {
    shape: { plan: planView.nullable().describe('The plan of the project. Null: the token has no project.') },
    of: (caller) => {
      // A link to a dashboard gives no rights of a tenant.
      const isTenant = caller.mayAny('query') || caller.mayAny('search') || caller.mayAny('ingest')
      return { plan: caller.project === undefined || !isTenant ? null : plans.of(caller.project) }
    },
  }
}
