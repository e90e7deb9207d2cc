import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type AlertFields, alertShape, alertStates, targetShape } from '../../alerts/alert.ts'
import type { AlertAdmin, AlertView } from '../../alerts/alert-admin.ts'
import { changeOf } from '../../base/validation.ts'
import { type FieldShapes, nameComponents } from '../openapi/json-schema.ts'
import { changedBy, expectedVersion, flag, goneSignal, ifMatch, versionParam } from './management.ts'
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
  version: z.int().min(1).describe('Increases with every change.'),
  created_at: z.iso.datetime().describe('When the alert was created.'),
  updated_at: z.iso.datetime().describe('When this version was created.'),
  updated_by: z.string().describe('Id of the token that created this version.'),
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

const params = z.object({
  reference: z.string().meta({ description: 'Id or name of the alert.', example: 'errors' }),
})
const newAlert = jsonBody(alertShape, {
  name: 'errors',
  endpoint: 'functions.invocation-stats',
  parameters: { project: 'demo', interval: '15min' },
  when: 'any(error_count) >= 10',
  for_seconds: 120,
  notify: [{ type: 'webhook', url: 'https://example.com/hook' }],
})
const change = {
  params,
  headers: ifMatch,
  responses: { 200: json('The alert after the change.', alert, ['ETag']) },
  errors: [409, 412],
}
const changing = 'Creates a new version. Another query, condition or duration makes the alert start anew.'

/** Managing alerts. */
export function addAlertRoutes(server: FastifyInstance, admin: AlertAdmin): void {
  const route = routesOf(server, { tag: 'Alerts', access: 'admin' })
  const path = '/api/alerts/:reference'
  route('GET /api/alerts', 'listAlerts', 'List alerts', {
    responses: { 200: json('All alerts with their states, by name.', z.array(alert)) },
    handler: () => admin.list(),
  })
  route('POST /api/alerts', 'createAlert', 'Create an alert', {
    description: 'The response contains the secrets of webhooks.',
    body: newAlert,
    responses: { 201: json('The alert.', alert, ['ETag', 'Location']) },
    errors: [409],
    handler: (request) => admin.create(request.body, changedBy(request)),
  })
  route('POST /api/alerts/preview', 'previewAlert', 'Preview an alert', {
    description: 'Shows what an alert that is not saved would send, and when it would have fired.',
    body: newAlert,
    responses: { 200: json('What the alert would do.', preview) },
    errors: [404, 422, 503, 504],
    handler: (request, reply) => admin.preview(request.body, goneSignal(request, reply)),
  })
  route(`GET ${path}`, 'getAlert', 'Show an alert', {
    params,
    responses: { 200: json('The alert with its state.', alert, ['ETag']) },
    handler: ({ params }) => admin.get(params.reference),
  })
  route(`PUT ${path}`, 'replaceAlert', 'Replace an alert', {
    ...change,
    description: `Omitted fields get their defaults. ${changing}`,
    body: newAlert,
    handler: (request) => admin.change(request.params.reference, request.body, 'default', termsOf(request)),
  })
  route(`PATCH ${path}`, 'changeAlert', 'Change some fields of an alert', {
    ...change,
    description: changing,
    body: jsonBody(alertChange, { muted_until: '2026-01-31T12:00:00Z' }),
    handler: (request) => admin.change(request.params.reference, request.body, 'stay', termsOf(request)),
  })
  route(`DELETE ${path}`, 'deleteAlert', 'Delete an alert', {
    description: 'A firing alert is resolved.',
    params,
    headers: ifMatch,
    responses: { 204: json('The alert is deleted.') },
    errors: [400, 412],
    handler: (request) => admin.delete(request.params.reference, termsOf(request)),
  })
  route(`GET ${path}/versions`, 'listAlertVersions', 'List the versions of an alert', {
    params,
    responses: { 200: json('All versions, newest first, each with the current state.', z.array(alert)) },
    handler: ({ params }) => admin.versions(params.reference),
  })
  route(`POST ${path}/versions/:version/restore`, 'restoreAlertVersion', 'Restore a version of an alert', {
    ...change,
    params: params.extend(versionParam),
    description: `Restores the fields of the old version. Targets that were removed get new secrets. ${changing}`,
    handler: async (request) =>
      admin.restore(request.params.reference, request.params.version, termsOf(request)),
  })
  route(`POST ${path}/test`, 'testAlert', 'Evaluate an alert now', {
    description: 'Changes nothing.',
    params,
    query: z.object({ notify: flag('Whether to send a notification of type `alert.test`.') }),
    responses: { 200: json('The result of the evaluation.', test) },
    errors: [400, 422, 503, 504],
    handler: (request, reply) =>
      admin.test(request.params.reference, request.query.notify, goneSignal(request, reply)),
  })
}

function termsOf(request: FastifyRequest) {
  return { by: changedBy(request), expected: expectedVersion(request) }
}
