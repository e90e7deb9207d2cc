import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { type EndpointDrafts, previewShape } from '../../endpoints/manage/endpoint-drafts.ts'
import { resultResponses, rowHeaders } from '../openapi/call.ts'
import { describeFields } from '../openapi/json-schema.ts'
import { sendResult } from '../send-result.ts'
import { columns, endpointChange, warnings } from './endpoints.ts'
import { changedBy, goneSignal } from './management.ts'
import { json, jsonBody, routesOf } from './route.ts'
import { formatOf, formatQuery } from './sql.ts'

const draft = {
  query: 'SELECT count() AS n FROM edge_logs WHERE project = @project AND timestamp > @now - INTERVAL 1 DAY',
  parameters: { project: { required: true } },
}
const preview = describeFields(previewShape, {
  endpoint: 'Fields of the endpoint. The name is optional.',
  parameters: 'Values of the parameters.',
})
const rows = z.object({ columns, result: z.array(z.record(z.string(), z.unknown())) })
const { 200: { content: formatted } = {} } = resultResponses({}, { explained: false, streamed: false })

/** Checking and running endpoints that are not saved. */
export function addDraftRoutes(server: FastifyInstance, drafts: EndpointDrafts): void {
  const route = routesOf(server, { tag: 'Exploring', access: 'admin' })
  const errors = [422, 504]
  route('POST /api/endpoints/check', 'checkEndpoint', 'Check an endpoint without saving it', {
    description: 'Errors and warnings have the line and column in the SQL as it was sent.',
    body: jsonBody(endpointChange, draft),
    responses: {
      200: json(
        'The endpoint is valid: its columns, the parameters that its SQL uses, and warnings.',
        z.object({ columns, parameters: z.array(z.string()), warnings }),
      ),
    },
    errors,
    handler: async (request, reply) =>
      drafts.check(request.body, changedBy(request), goneSignal(request, reply)),
  })
  route('POST /api/endpoints/preview', 'previewEndpoint', 'Run an endpoint without saving it', {
    description: 'Times out after 30 s. The result is not cached. Only JSON has the columns.',
    query: formatQuery,
    body: jsonBody(preview, { endpoint: draft, parameters: { project: 'demo' } }),
    responses: {
      200: { ...json('Rows.', rows, rowHeaders), content: { ...formatted, ...json('', rows).content } },
    },
    errors: [...errors, 406],
    unchecked: true,
    handler: async (request, reply) => {
      const since = performance.now()
      const format = formatOf(request)
      const gone = goneSignal(request, reply)
      const { columns, answer } = await drafts.preview(request.body, format, changedBy(request), gone)
      if (format.name !== 'json') {
        return sendResult(request, reply, { kind: 'computed', answer }, format.contentType, since)
      }
      // The columns go before the rows, which are the engine's own bytes: {"result":[…]}.
      const head = Buffer.from(`{"columns":${JSON.stringify(columns)},`)
      const body = Buffer.concat([head, answer.body.subarray(1)])
      const computed = { kind: 'computed', answer: { ...answer, body } } as const
      return sendResult(request, reply, computed, format.contentType, since)
    },
  })
}
