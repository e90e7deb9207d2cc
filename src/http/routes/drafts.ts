import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { unknownParameter } from '../../base/errors.ts'
import type { OutputFormat } from '../../endpoints/call/output-formats.ts'
import { parameterTypeNames } from '../../endpoints/definition/parameter-declaration.ts'
import { type EndpointDrafts, previewShape, sqlShape } from '../../endpoints/manage/endpoint-drafts.ts'
import { namesAudit } from '../../sql/audit-source.ts'
import { callQuery, resultResponses, rowHeaders } from '../openapi/call.ts'
import { chooseFormat, queryParameters, readParameters } from '../request-parameters.ts'
import { sendResult } from '../send-result.ts'
import type { ServerOptions } from '../server-options.ts'
import { columns, endpointChange, warnings } from './endpoints.ts'
import { refuseAudit } from './logs/entry-access.ts'
import { changedBy, goneSignal } from './management.ts'
import { json, jsonBody, type Response, routesOf } from './route.ts'

const query =
  'SELECT count() AS n FROM edge_logs WHERE project = @project AND timestamp > @now - INTERVAL 1 DAY'
const draft = { query, parameters: { project: { required: true } } }
const types = z.record(z.string(), z.enum(parameterTypeNames))
const checked = z.object({ columns, parameters: z.array(z.string()), types, warnings })
const formatQuery = callQuery.pick({ _format: true, _timestamps: true })
const rows = z.object({ columns, result: z.array(z.record(z.string(), z.unknown())) })
const anyRows = { type: 'array', items: { type: 'object', additionalProperties: true } }
const { 200: sqlResult } = resultResponses(anyRows, { explained: false, streamed: false }) as {
  200: Response
}

export function addDraftRoutes(server: FastifyInstance, { drafts }: ServerOptions): void {
  const route = routesOf(server, { tag: 'Exploring', access: 'read' })
  const errors = [422, 504]
  route('POST /api/endpoints/check', 'checkEndpoint', 'Check an endpoint without saving it', {
    description: 'Errors and warnings have the line and column in the SQL as it was sent.',
    body: jsonBody(endpointChange, draft),
    responses: { 200: json('What the SQL returns and uses.', checked) },
    errors,
    handler: async (request, reply) => {
      refuseAudit(request.caller, namesAudit((request.body as Draft)?.query))
      return drafts.check(request.body, changedBy(request), goneSignal(request, reply))
    },
  })
  route('POST /api/endpoints/preview', 'previewEndpoint', 'Run an endpoint without saving it', {
    description: 'Times out after 30 s. The result is not cached. Only JSON has the columns.',
    query: formatQuery,
    body: jsonBody(previewShape, { endpoint: draft, parameters: { project: 'demo' } }),
    responses: {
      200: {
        ...json('Rows.', rows, rowHeaders),
        content: { ...sqlResult.content, ...json('', rows).content },
      },
    },
    errors: [...errors, 406],
    unchecked: true,
    handler: computing(async (...draft) => {
      const { columns, result } = await drafts.preview(...draft)
      const [, format] = draft
      // The columns go before the rows, which are the engine's own bytes: {"result":[…]}.
      const head = Buffer.from(`{"columns":${JSON.stringify(columns)},`)
      const body = format.name === 'json' ? Buffer.concat([head, result.body.subarray(1)]) : result.body
      return { ...result, body }
    }),
  })
  route('POST /api/sql', 'runSql', 'Run SQL', {
    description:
      'One SELECT with the rules and formats of an endpoint. Times out after 30 s. The result is not cached. ' +
      'Errors have the line and column in the SQL as it was sent.',
    query: formatQuery,
    body: jsonBody(sqlShape, { query, parameters: { project: 'demo' } }),
    responses: { 200: { ...sqlResult, headers: rowHeaders } },
    errors: [...errors, 406],
    unchecked: true,
    handler: computing((...draft) => drafts.run(...draft)),
  })
}

interface Draft {
  query?: unknown
  endpoint?: { query?: unknown } | null
}

/** Handles a request whose rows are computed and not cached. */
function computing(run: EndpointDrafts['run']) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const since = performance.now()
    const { query, endpoint } = (request.body ?? {}) as Draft
    refuseAudit(request.caller, namesAudit(query) || namesAudit(endpoint?.query))
    const format = formatOf(request)
    const result = await run(request.body, format, changedBy(request), goneSignal(request, reply))
    return sendResult(request, reply, { kind: 'computed', result }, format.contentType, since)
  }
}

function formatOf(request: FastifyRequest): OutputFormat {
  const { parameters, control } = readParameters(queryParameters(request))
  const names = [...Object.keys(parameters), ...control.keys()]
  const unknown = names.find((name) => !Object.hasOwn(formatQuery.shape, name))
  if (unknown !== undefined) {
    const known = Object.keys(formatQuery.shape)
    throw unknownParameter(unknown, known, ' Send parameters of the SQL in the body.')
  }
  return chooseFormat(control, request.headers.accept, false).format
}
