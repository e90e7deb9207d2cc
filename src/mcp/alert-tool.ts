import { z } from 'zod'
import { alertStates } from '../alerts/alert.ts'
import type { AlertAdmin } from '../alerts/alert-admin.ts'
import { readShape } from '../base/validation.ts'
import { jsonLines, rowResult, rowsSchema } from './row-result.ts'
import { type BuiltInTool, inputSchema, named } from './tool.ts'

const input = z.strictObject({ state: z.enum(alertStates).optional().describe('Only alerts in this state.') })
const text = { type: 'string' }
const properties = { name: text, state: text, since: text, value: { type: ['number', 'null'] }, when: text }

/** A tool that lists alerts, for admins. */
export function listAlerts(alerts: AlertAdmin): BuiltInTool {
  return {
    definition: {
      ...named('list_alerts', 'List alerts'),
      description:
        'Lists alerts with their states: ok, pending (the condition holds, but not long enough), firing, or failing (it cannot be evaluated).',
      inputSchema: inputSchema(input),
      outputSchema: rowsSchema({ type: 'object', properties }),
    },
    run: async (sent) => {
      const { state: wanted } = readShape(input, sent)
      const all = (await alerts.list()).filter(({ state }) => wanted === undefined || state === wanted)
      // URLs of targets can be secrets.
      const rows = all.map(({ notify: _, ...shown }) => shown)
      return rowResult(jsonLines(rows), { narrow: 'Set state to list fewer alerts.' })
    },
  }
}
