import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import {
  type AlertFields,
  alertShape,
  alertStates,
  type SavedAlert,
  targetShape,
} from '../../alerts/alert.ts'
import type { AlertView } from '../../alerts/alert-kind.ts'
import { changeOf } from '../../base/validation.ts'
import { type FieldShapes, nameComponents } from '../openapi/json-schema.ts'
import type { ServerOptions } from '../server-options.ts'
import { addKindRoutes, commonView, type KindDocs, referenceParams } from './kind-routes.ts'
import { refuseAudit } from './logs/entry-access.ts'
import { flag, goneSignal } from './management.ts'
import { json, jsonBody, routesOf } from './route.ts'

const view: FieldShapes<Omit<AlertView, keyof AlertFields>> = {
  id: z.uuid().describe('Stays the same if the name changes.'),
  state: z.enum(alertStates).describe('`failing`: three evaluations in a row failed.'),
  since: z.iso.datetime().describe('When the state began.'),
  evaluated_at: z.iso.datetime().nullable().describe('When the alert was last evaluated. Null: not yet.'),
  value: z.number().nullable().describe('The value that decided the last evaluation. Null: there was none.'),
  error: z
    .string()
    .nullable()
    .describe('Why the last evaluation failed, why nothing can be sent, or what was not delivered.'),
  ...commonView,
}
const target = targetShape.extend({
  secret: z.string().exactOptional().describe('Signs notifications. Only in the response that created it.'),
  switched_off: z.literal(true).exactOptional().describe('The target responded 410: nothing more is sent.'),
})
const alert = z.object({
  ...view,
  ...alertShape.shape,
  parameters: z.record(z.string(), z.string()).describe('Parameters of the endpoint, by name.'),
  notify: z.array(target).describe('Where notifications are sent.'),
})
const alertChange = changeOf(alertShape)

const row = z.record(z.string(), z.unknown())
const evaluation = {
  state: z.enum(alertStates).describe('The state that this evaluation leads to.'),
  value: z.number().nullable().describe('The value that decided. Null: there is none.'),
  rows: z.array(row).describe('At most 10 rows that show why.'),
}
const delivery = targetShape.extend({
  status: z.int().nullable().describe('Status of the response. Null: no response.'),
  error: z.string().nullable().describe('Why there is no response.'),
  response: z.string().describe('The beginning of the response.'),
})
const test = z.object({
  ...evaluation,
  deliveries: z.array(delivery).exactOptional().describe('Results of the test notification, if it was sent.'),
})
const decision = z.object({ at: z.iso.datetime(), value: evaluation.value, met: z.boolean() })
const preview = z.object({
  ...evaluation,
  webhook: row.describe('What a webhook would receive.'),
  slack: row.describe('What Slack would receive.'),
  history: z.array(decision).nullable().describe('The last day, oldest first. Null: no `@now` in the query.'),
})

nameComponents('input', { NewAlert: alertShape, AlertChange: alertChange })
nameComponents('output', { Alert: alert, AlertTest: test, AlertPreview: preview })

const example = {
  name: 'errors',
  endpoint: 'functions.invocation-stats',
  parameters: { project: 'demo', interval: '15min' },
  when: 'any(error_count) >= 10',
  for_seconds: 120,
  notify: [{ type: 'webhook', url: 'https://example.com/hook' }],
}

export const alertDocs: KindDocs = {
  name: 'Alert',
  tag: 'Alerts',
  folder: 'alerts',
  fields: alertShape,
  example,
  change: alertChange,
  changeExample: { muted_until: '2026-01-31T12:00:00Z' },
  view: alert,
  referenceExample: 'errors',
  changes: 'edit',
  texts: {
    create: 'The response contains the secrets of webhooks.',
    change: 'Another query, condition or duration makes the alert start anew.',
    delete: 'A firing alert is resolved.',
    restore: 'Targets that were removed get new secrets.',
  },
}

/** Managing alerts. */
export function addAlertRoutes(
  server: FastifyInstance,
  { definitions, alertTests: tests, endpoints }: ServerOptions,
): void {
  addKindRoutes(server, definitions, alertDocs)
  const route = routesOf(server, { tag: 'Alerts', access: 'edit' })
  /** Rows of the audit are for admins. */
  const refuseEndpoint = ({ caller, body }: Pick<FastifyRequest, 'caller' | 'body'>) => {
    const { endpoint } = (body ?? {}) as { endpoint?: unknown }
    refuseAudit(caller, endpoints.find(String(endpoint))?.readsAudit ?? false)
  }
  route('POST /api/alerts/preview', 'previewAlert', 'Preview an alert', {
    description: 'Shows what an alert that is not saved would send, and when it would have fired.',
    body: jsonBody(alertShape, example),
    responses: { 200: json('What the alert would do.', preview) },
    errors: [404, 422, 503, 504],
    handler: async (request, reply) => {
      refuseEndpoint(request)
      return tests.preview(request.body, goneSignal(request, reply))
    },
  })
  route('POST /api/alerts/:reference/test', 'testAlert', 'Evaluate an alert now', {
    description: 'Changes nothing.',
    params: referenceParams(alertDocs),
    query: z.object({ notify: flag('Whether to send a notification of type `alert.test`.') }),
    responses: { 200: json('The result of the evaluation.', test) },
    errors: [400, 422, 503, 504],
    handler: async (request, reply) => {
      const alert = definitions.find<SavedAlert>('alerts', request.params.reference)
      refuseEndpoint({ caller: request.caller, body: alert.definition })
      return tests.test(alert, request.query.notify, goneSignal(request, reply))
    },
  })
}
