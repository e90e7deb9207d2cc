import { z } from 'zod'
import type { Definitions } from '../../core/definitions/definitions.ts'
import type { ServiceTool } from '../../core/http/service-tool.ts'
import { alertStates } from './alert.ts'
import type { AlertView } from './alert-kind.ts'

const text = { type: 'string' }

export function listAlerts(definitions: Definitions): ServiceTool {
  return {
    name: 'list_alerts',
    title: 'List alerts',
    description:
      'Lists alerts with their states: ok, pending (the condition holds, but not long enough), firing, or failing (it cannot be evaluated).',
    input: z.strictObject({ state: z.enum(alertStates).optional().describe('Only alerts in this state.') }),
    row: {
      properties: { name: text, state: text, since: text, value: { type: ['number', 'null'] }, when: text },
    },
    narrow: 'Set state to list fewer alerts.',
    async rows({ state: wantedState }, reader) {
      const alerts = (await definitions.list('alerts', reader)) as AlertView[]
      const matching = alerts.filter(({ state }) => wantedState === undefined || state === wantedState)
      // URLs of targets can be secrets.
      return matching.map(({ notify: _, ...fields }) => fields)
    },
  }
}
