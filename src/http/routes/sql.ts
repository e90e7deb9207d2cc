import type { FastifyInstance, FastifyRequest } from 'fastify'
import { unknownParameter } from '../../base/errors.ts'
import type { OutputFormat } from '../../endpoints/call/output-formats.ts'
import { type EndpointDrafts, sqlShape } from '../../endpoints/manage/endpoint-drafts.ts'
import { callQuery, resultResponses, rowHeaders } from '../openapi/call.ts'
import { describeFields } from '../openapi/json-schema.ts'
import { queryParameters, readParameters } from '../request-parameters.ts'
import { chooseFormat } from '../result-format.ts'
import { sendResult } from '../send-result.ts'
import { changedBy, goneSignal } from './management.ts'
import { jsonBody, type Response, routesOf } from './route.ts'

const body = describeFields(sqlShape, {
  query: 'One SELECT over sources. Parameters are written `@name`.',
  parameters: 'A value for each parameter. Its type follows from the JSON; null is a null text.',
  max_rows: 'Maximum number of rows. Longer results are truncated.',
})
const example = {
  query: 'SELECT count() AS n FROM edge_logs WHERE project = @project AND timestamp > @now - INTERVAL 1 DAY',
  parameters: { project: 'demo' },
}
export const formatQuery = callQuery.pick({ _format: true, _timestamps: true })
const rows = { type: 'array', items: { type: 'object', additionalProperties: true } }
const { 200: result } = resultResponses(rows, { explained: false, streamed: false }) as { 200: Response }

/** Running SQL that belongs to no endpoint. */
export function addSqlRoutes(server: FastifyInstance, drafts: EndpointDrafts): void {
  const route = routesOf(server, { tag: 'Exploring', access: 'admin' })
  route('POST /api/sql', 'runSql', 'Run SQL', {
    description:
      'One SELECT with the rules and formats of an endpoint. Times out after 30 s. The result is not cached. ' +
      'Errors have the line and column in the SQL as it was sent.',
    query: formatQuery,
    body: jsonBody(body, example),
    responses: { 200: { ...result, headers: rowHeaders } },
    errors: [406, 422, 504],
    unchecked: true,
    handler: async (request, reply) => {
      const since = performance.now()
      const format = formatOf(request)
      const gone = goneSignal(request, reply)
      const answer = await drafts.run(request.body, format, changedBy(request), gone)
      return sendResult(request, reply, { kind: 'computed', answer }, format.contentType, since)
    },
  })
}

/** The format of a request whose parameters are in the body. */
export function formatOf(request: FastifyRequest): OutputFormat {
  const { parameters, control } = readParameters(queryParameters(request))
  const names = [...Object.keys(parameters), ...control.keys()]
  const unknown = names.find((name) => !Object.hasOwn(formatQuery.shape, name))
  if (unknown !== undefined) {
    throw unknownParameter(
      unknown,
      Object.keys(formatQuery.shape),
      ' Send parameters of the SQL in the body.',
    )
  }
  return chooseFormat(control, request.headers.accept, false).format
}
