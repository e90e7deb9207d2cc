import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Caller } from '../../access/caller.ts'
import { unknownParameter } from '../../base/errors.ts'
import { uncached } from '../../endpoints/call/endpoint-calls.ts'
import type { OutputFormat } from '../../endpoints/call/output-formats.ts'
import { parameterTypeNames } from '../../endpoints/definition/parameter-declaration.ts'
import { columnsView as columns } from '../../endpoints/definition/result-columns.ts'
import { type EndpointDrafts, previewShape, sqlShape } from '../../endpoints/manage/endpoint-drafts.ts'
import { endpoints as endpointKind } from '../../endpoints/manage/endpoint-kind.ts'
import { warningsView as warnings } from '../../sql/warnings/warning.ts'
import { goneSignal } from '../connections.ts'
import { callQuery, resultResponses, rowHeaders } from '../openapi/call.ts'
import { chooseFormat, queryParameters, readParameters } from '../request-parameters.ts'
import { sendResult } from '../send-result.ts'
import { documented } from './kind-routes.ts'
import { json, jsonBody, type Response, routesOf } from './route.ts'

const query =
  'SELECT count() AS n FROM edge_logs WHERE project = @project AND timestamp > @now - INTERVAL 1 DAY'
const draft = { query, parameters: { project: { required: true } } }
const types = z.record(z.string(), z.enum(parameterTypeNames))
const checked = z.object({ columns, parameters: z.array(z.string()), types, warnings })
const formatQuery = callQuery.pick({ _format: true, _timestamps: true, _raw: true })
const rows = z.object({ columns, result: z.array(z.record(z.string(), z.unknown())) })
const anyRows = { type: 'array', items: { type: 'object', additionalProperties: true } }
const { 200: sqlResult } = resultResponses(anyRows, { explained: false, streamed: false }) as {
  200: Response
}

export function addDraftRoutes(server: FastifyInstance, { drafts }: { drafts: EndpointDrafts }): void {
  const route = routesOf(server, { tag: 'Exploring', access: 'read' })
  const errors = [422, 504]
  route('POST /api/endpoints/check', 'checkEndpoint', 'Check an endpoint without saving it', {
    description: 'Errors and warnings have the line and column in the SQL as it was sent.',
    body: jsonBody(documented(endpointKind).change, draft),
    responses: { 200: json('What the SQL returns and uses.', checked) },
    errors,
    handler: (request, reply) => drafts.check(request.body, request.caller as Caller, goneSignal(reply)),
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
      return format.name === 'json' ? result.withBody(Buffer.concat([head, result.body.subarray(1)])) : result
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

/** Handles a request whose rows are computed and not cached. */
function computing(run: EndpointDrafts['run']) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const since = performance.now()
    const format = formatOf(request)
    const result = await run(request.body, format, request.caller as Caller, goneSignal(reply))
    return sendResult(request, reply, uncached(result), since)
  }
}

function formatOf(request: FastifyRequest): OutputFormat {
  const { names, control } = readParameters(queryParameters(request))
  const unknown = [...names].find((name) => !Object.hasOwn(formatQuery.shape, name))
  if (unknown !== undefined) {
    const known = Object.keys(formatQuery.shape)
    throw unknownParameter(unknown, known, ' Send parameters of the SQL in the body.')
  }
  return chooseFormat(control, request.headers.accept, false).format
}
