import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { notFound } from '../../core/base/errors.ts'
import { isoInstant, readShape } from '../../core/base/validation.ts'
import type { Definitions } from '../../core/definitions/definitions.ts'
import { goneSignal } from '../../core/http/connections.ts'
import { referenceParams } from '../../core/http/routes/kind-routes.ts'
import { authorOf, flag } from '../../core/http/routes/management.ts'
import { json, jsonBody, routesOf } from '../../core/http/routes/route.ts'
import { alertShape, alertStates, type SavedAlert, targetShape } from './alert.ts'
import { alertExample, alerts as alertKind } from './alert-kind.ts'
import type { AlertTests } from './alert-tests.ts'
import { targetForms } from './notification.ts'

const row = z.record(z.string(), z.unknown())
const group = z.object({
  key: row.describe('The values of the columns in `by`; long ones are cut.'),
  id: z.string().describe('Stable for the alert and the key.'),
  state: z.enum(alertStates).describe('State of the group.'),
  value: z.number().nullable().describe('The value that decided. Null: there is none.'),
  since: z.iso.datetime().describe('When the state began.'),
})
const savedGroup = group.extend({ muted_until: z.string().nullable().describe('Null: not muted.') })
const evaluation = {
  state: z.enum(alertStates).describe('The state that this evaluation leads to.'),
  value: z.number().nullable().describe('The value that decided. Null: there is none.'),
  rows: z.array(row).describe('At most 10 rows that show why.'),
  groups: z.array(group).exactOptional().describe('Of an alert with `by`.'),
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
const bodies = Object.entries(targetForms).map(([type, { content }]) => [type, row.describe(content)])
const preview = z.object({
  ...evaluation,
  ...(Object.fromEntries(bodies) as Record<string, typeof row>),
  history: z.array(decision).nullable().describe('The last day, oldest first. Null: no `@now` in the query.'),
})

const mute = z.strictObject({ until: isoInstant.nullable().describe('Null ends the mute.') })

/** Names in the OpenAPI document. */
const components = {
  output: { AlertTest: test, AlertPreview: preview, AlertGroup: savedGroup },
}

/** Trying alerts. */
export function addAlertRoutes(
  server: FastifyInstance,
  { definitions, alertTests: tests }: { definitions: Definitions; alertTests: AlertTests },
): void {
  server.components.add(components)
  const route = routesOf(server, { tag: 'Alerts', access: 'edit' })
  route('POST /api/alerts/preview', 'previewAlert', 'Preview an alert', {
    description: 'Shows what an alert that is not saved would send, and when it would have fired.',
    body: jsonBody(alertShape, alertExample),
    responses: { 200: json('What the alert would do.', preview) },
    errors: [404, 422, 503, 504],
    handler: (request, reply) => tests.preview(request.body, request.caller, goneSignal(reply)),
  })
  route('POST /api/alerts/:reference/test', 'testAlert', 'Evaluate an alert now', {
    description: 'Changes nothing.',
    params: referenceParams(alertKind),
    query: z.object({ notify: flag('Whether to send a notification of type `alert.test`.') }),
    responses: { 200: json('The result of the evaluation.', test) },
    errors: [400, 422, 503, 504],
    handler: async (request, reply) => {
      const { params, caller } = request
      const alert = definitions.find<SavedAlert>('alerts', params.reference, caller)
      return tests.test(alert, request.query.notify, goneSignal(reply))
    },
  })
  route('GET /api/alerts/:reference/groups', 'listAlertGroups', 'List the groups of an alert', {
    access: 'read',
    description: 'Of an alert with `by`, as they were last evaluated.',
    params: referenceParams(alertKind),
    responses: { 200: json('The groups, in the order of the rows.', z.array(savedGroup)) },
    handler: ({ params, caller }) =>
      tests.groups(definitions.find<SavedAlert>('alerts', params.reference, caller)),
  })
  route('POST /api/alerts/:reference/groups/:id/mute', 'muteAlertGroup', 'Mute a group of an alert', {
    description: 'No notification of the group is sent until then. Creates a version of the alert.',
    params: referenceParams(alertKind).extend({ id: z.string() }),
    body: jsonBody(mute, { until: '2026-01-31T12:00:00Z' }),
    responses: { 200: json('The group.', savedGroup) },
    errors: [400, 404],
    handler: async (request) => {
      const { params, caller } = request
      const { until } = readShape(mute, request.body)
      const alert = definitions.find<SavedAlert>('alerts', params.reference, caller)
      const found = (await tests.groups(alert)).find(({ id }) => id === params.id)
      if (!found) throw notFound(request.method, request.url)
      const terms = { by: authorOf(request), expected: undefined, note: '', breaking: true }
      const muted = ({ definition: { muted_groups } }: SavedAlert) => {
        const others = Object.entries(muted_groups).filter(
          ([id, end]) => id !== found.id && Date.parse(end) > Date.now(),
        )
        return { muted_groups: Object.fromEntries([...others, ...(until ? [[found.id, until]] : [])]) }
      }
      await definitions.change('alerts', alert.id, muted, 'stay', terms)
      return { ...found, muted_until: until }
    },
  })
}
