import { z } from 'zod'
import type { AlertAdmin } from '../alerts/alert-admin.ts'
import { readShape } from '../base/validation.ts'
import { jsonLines, rowResult, rowsSchema } from './row-result.ts'
import { type BuiltInTool, inputSchema, readOnly } from './tool.ts'

const input = z.strictObject({
  state: z.enum(['ok', 'pending', 'firing', 'failing']).optional().describe('Only alerts in this state.'),
})
const text = { type: 'string' }
const shown = [
  'name',
  'state',
  'since',
  'value',
  'when',
  'endpoint',
  'parameters',
  'error',
  'muted_until',
] as const

/** A tool that lists alerts, for admins. */
export function listAlerts(alerts: AlertAdmin): BuiltInTool {
  return {
    definition: {
      name: 'list_alerts',
      title: 'List alerts',
      annotations: { title: 'List alerts', ...readOnly },
      description:
        'Lists alerts with their states: ok, pending (the condition holds, but not long enough), firing, or failing (it cannot be evaluated).',
      inputSchema: inputSchema(input),
      outputSchema: rowsSchema({
        type: 'object',
        properties: {
          name: text,
          state: text,
          since: text,
          value: { type: ['number', 'null'] },
          when: text,
          endpoint: text,
        },
      }),
    },
    run: async (sent) => {
      const { state } = readShape(input, sent)
      const all = await alerts.list()
      const rows = all
        .filter((alert) => state === undefined || alert.state === state)
        .map((alert) => Object.fromEntries(shown.map((field) => [field, alert[field]])))
      return rowResult(jsonLines(rows), { narrow: 'Set state to list fewer alerts.' })
    },
  }
}
