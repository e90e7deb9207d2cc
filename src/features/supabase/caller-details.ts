import { z } from 'zod'
import type { CallerDetails } from '../../core/http/routes/access/whoami.ts'

export function bigQueryDetails(isOn: boolean): CallerDetails {
  return {
    shape: { bigquery: z.boolean().describe('Whether the service translates BigQuery SQL for this token.') },
    of: (caller) => ({ bigquery: isOn && caller.role !== undefined }),
  }
}
