import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { changeOf } from '../../base/validation.ts'
import {
  definitionShape,
  type EndpointDefinition,
  parametersText,
  publishedText,
} from '../../endpoints/definition/definition.ts'
import { declaredValues, parameterShape } from '../../endpoints/definition/parameter-declaration.ts'
import { expectedVersionShape } from '../../endpoints/manage/deployments.ts'
import type { ChangeTerms, EndpointAdmin, EndpointView } from '../../endpoints/manage/endpoint-admin.ts'
import type { Endpoints } from '../../endpoints/manage/endpoints.ts'
import { noteShape } from '../../endpoints/manage/stored-endpoint.ts'
import type { SlowCall, SlowCalls } from '../../observability/slow-calls.ts'
import type { JsonPath } from '../../sql/paths.ts'
import { type Warning, warningCodes } from '../../sql/warnings/warning.ts'
import { plan } from '../openapi/call.ts'
import { type FieldShapes, nameComponents } from '../openapi/json-schema.ts'
import { changedBy, expectedVersion, flag, ifMatch, versionParam } from './management.ts'
import { json, jsonBody, routesOf } from './route.ts'

export const columns = z.array(z.object({ name: z.string(), type: z.string() }))

const value = z.union([z.string(), z.number(), z.boolean()])
export const parameter = z.object({ ...parameterShape.shape, ...declaredValues(value) })

const view: FieldShapes<Omit<EndpointView, keyof EndpointDefinition>> = {
  version: z.int().min(1).describe('Increases with every change.'),
  columns: columns.describe('Columns of the result, with the types of the engine.'),
  created_at: z.iso.datetime().describe('When the endpoint was created.'),
  updated_at: z.iso.datetime().describe('When this version was created.'),
  updated_by: z.string().describe('Id of the token that created this version.'),
  note: z.string().describe('Why this version was created. Set with the parameter `note`.'),
}

const shown = {
  ...definitionShape.shape,
  parameters: z.record(z.string(), parameter).describe(parametersText),
  published: z.boolean().describe(publishedText),
  ...view,
}
const endpoint = z.object(shown)

const warning = z.object<FieldShapes<Warning>>({
  code: z.enum(warningCodes).describe('What is probably wrong, for programs.'),
  message: z.string().describe('What is probably wrong and what to write instead, for people.'),
  line: z.int().min(1).describe('Line in the SQL as it was sent, from 1.'),
  column: z.int().min(1).describe('Column in the SQL as it was sent, from 1.'),
})
export const warnings = z
  .array(warning)
  .describe('SQL that is valid but probably wrong. It does not prevent saving.')
const changedEndpoint = z.object({ ...shown, warnings })

/** Read-only fields are ignored, so that callers can send back what they read. */
const readOnly = Object.fromEntries(
  Object.entries({ ...view, warnings }).map(([name, shape]) => [
    name,
    shape.optional().meta({ readOnly: true }),
  ]),
)
const sent = {
  ...definitionShape.shape,
  id: definitionShape.shape.id.optional(),
  parameters: z.record(z.string(), parameterShape).default({}).describe(parametersText),
  ...readOnly,
}

const endpointFields = z.strictObject(sent)
export const endpointChange = changeOf(endpointFields)
const expected_version = expectedVersionShape
  .optional()
  .describe('The version that this replaces. 0: the endpoint must not exist yet.')
export const deploymentEndpoint = z.strictObject({ ...sent, expected_version })

const jsonPath = z.object<FieldShapes<JsonPath>>({
  source: z.string().describe('Source that the path is read from.'),
  path: z.string().describe('Path in `metadata`, with dots between the levels.'),
  cast: z.string().nullable().describe('Engine type that the SQL casts the value to. Null: no cast.'),
})

export const slowCall = z.object<FieldShapes<SlowCall>>({
  at: z.iso.datetime().describe('When the response was sent.'),
  duration_ms: z.number().describe('Time from the request to the end of the response.'),
  engine_ms: z.number().describe('Time spent in the engine. 0 if unknown.'),
  rows_read: z.int().nullable().describe('Rows that the engine read. Null if unknown.'),
  status: z.int().describe('Status of the response. 499 if the caller disconnected.'),
  code: z.string().nullable().describe('Code of the error. Null: no error.'),
  request_id: z.string().describe('Id of the request in the log.'),
  token_id: z.string().describe('Id of the token.'),
  version: z.int().describe('Version of the endpoint.'),
  cache: z.string().describe('Outcome of the cache: `none`, `stale`, `miss`, `joined` or `bypass`.'),
  plan: plan.nullable().describe('Query plan, without values. Null if none was recorded.'),
})

nameComponents('input', {
  ParameterFields: parameterShape,
  EndpointFields: endpointFields,
  EndpointChange: endpointChange,
  DeploymentEndpoint: deploymentEndpoint,
})
nameComponents('output', {
  Parameter: parameter,
  Endpoint: endpoint,
  ChangedEndpoint: changedEndpoint,
  Warning: warning,
  JsonPath: jsonPath,
  SlowCall: slowCall,
})

export const params = z.object({
  reference: z.string().meta({
    description: 'Id or name of the endpoint. An endpoint named `query` needs its id here.',
    example: 'logs.all',
  }),
})
const example = {
  name: 'slowest-requests',
  query:
    'SELECT timestamp, request_path, origin_time FROM edge_logs ' +
    'WHERE project = @project AND timestamp > @now - INTERVAL 1 DAY ORDER BY origin_time DESC LIMIT 20',
  parameters: { project: { required: true } },
}
const noted = z.object({ note: noteShape.default('').describe('Why this version is created, for people.') })
const changeQuery = noted.extend({ breaking: flag('Whether to make changes that break callers.') })
const changing = {
  query: changeQuery,
  headers: ifMatch,
  responses: { 200: json('The endpoint after the change.', changedEndpoint, ['ETag']) },
  errors: [409, 412, 422],
}
const changeText = 'Creates a new version. A change that breaks callers is refused unless `breaking` is true.'

export function addEndpointRoutes(
  server: FastifyInstance,
  admin: EndpointAdmin,
  endpoints: Pick<Endpoints, 'get'>,
  slowCalls: SlowCalls,
): void {
  const route = routesOf(server, { tag: 'Endpoints', access: 'admin' })
  const path = '/api/endpoints/:reference'
  route('GET /api/endpoints', 'listEndpoints', 'List endpoints', {
    responses: { 200: json('All endpoints, by name.', z.array(endpoint)) },
    handler: async () => admin.list(),
  })
  route('POST /api/endpoints', 'createEndpoint', 'Create an endpoint', {
    description: 'Checks the SQL before it stores anything.',
    query: noted,
    body: jsonBody(endpointFields, example),
    responses: { 201: json('The endpoint.', changedEndpoint, ['ETag', 'Location']) },
    errors: [409, 422],
    handler: (request) => admin.create(request.body, { by: changedBy(request), note: request.query.note }),
  })
  route(`GET ${path}`, 'getEndpoint', 'Show an endpoint', {
    params,
    responses: { 200: json('The endpoint.', endpoint, ['ETag']) },
    handler: async ({ params }) => admin.get(params.reference),
  })
  route(`PUT ${path}`, 'replaceEndpoint', 'Replace an endpoint', {
    ...changing,
    params,
    description: `Omitted fields get their defaults. ${changeText}`,
    body: jsonBody(endpointFields, example),
    handler: (request) => admin.change(request.params.reference, request.body, 'default', termsOf(request)),
  })
  route(`PATCH ${path}`, 'changeEndpoint', 'Change some fields of an endpoint', {
    ...changing,
    params,
    description: changeText,
    body: jsonBody(endpointChange, { max_rows: 100 }),
    handler: (request) => admin.change(request.params.reference, request.body, 'stay', termsOf(request)),
  })
  route(`DELETE ${path}`, 'deleteEndpoint', 'Delete an endpoint', {
    params,
    headers: ifMatch,
    responses: { 204: json('The endpoint is deleted.') },
    errors: [400, 412],
    handler: async (request) =>
      admin.delete(request.params.reference, changedBy(request), expectedVersion(request)),
  })
  route(`GET ${path}/versions`, 'listEndpointVersions', 'List the versions of an endpoint', {
    params,
    responses: { 200: json('All versions, newest first.', z.array(endpoint)) },
    handler: async ({ params }) => admin.versions(params.reference),
  })
  route(`POST ${path}/versions/:version/restore`, 'restoreEndpointVersion', 'Restore a version', {
    ...changing,
    params: params.extend(versionParam),
    description: `Restores the fields of the old version. ${changeText}`,
    handler: async (request) =>
      admin.restore(request.params.reference, request.params.version, termsOf(request)),
  })
  route(`GET ${path}/paths`, 'listJsonPaths', 'List paths that an endpoint reads from JSON text', {
    description: 'Paths of `metadata` that a typed column (`columns` of the source) makes faster to read.',
    params,
    responses: { 200: json('All paths, in the order of the SQL.', z.array(jsonPath)) },
    handler: async ({ params }) => admin.paths(params.reference),
  })
  route(`GET ${path}/slow`, 'listSlowCalls', 'List slow and failed requests of an endpoint', {
    description: 'Up to 20 slow, failed and refused requests each, to this process in the last hour.',
    params,
    responses: { 200: json('Requests, slowest first.', z.array(slowCall)) },
    handler: async ({ params }) => slowCalls.of(endpoints.get(params.reference).definition.id),
  })
}

/** The schema of the route has checked the query. */
function termsOf(request: FastifyRequest): ChangeTerms {
  const query = request.query as z.output<typeof changeQuery>
  return { by: changedBy(request), expected: expectedVersion(request), ...query }
}
