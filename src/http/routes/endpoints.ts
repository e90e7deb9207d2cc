import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { changeOf } from '../../base/validation.ts'
import {
  definitionShape,
  type EndpointDefinition,
  parametersText,
} from '../../endpoints/definition/definition.ts'
import { declaredValues, parameterShape } from '../../endpoints/definition/parameter-declaration.ts'
import type { EndpointView } from '../../endpoints/manage/endpoint-kind.ts'
import { jsonPathShape } from '../../sql/paths.ts'
import { warningShape } from '../../sql/warnings/warning.ts'
import { type FieldShapes, nameComponents } from '../openapi/json-schema.ts'
import type { ServerOptions } from '../server-options.ts'
import { addKindRoutes, commonView, type KindDocs, referenceParams } from './kind-routes.ts'
import { json, routesOf } from './route.ts'

export const columns = z.array(z.object({ name: z.string(), type: z.string() }))

const value = z.union([z.string(), z.number(), z.boolean()])
export const parameter = z.object({ ...parameterShape.shape, ...declaredValues(value) })

const view: FieldShapes<Omit<EndpointView, keyof EndpointDefinition>> = {
  ...commonView,
  columns: columns.describe('Columns of the result, with the types of the engine.'),
}

const shown = {
  ...definitionShape.shape,
  parameters: z.record(z.string(), parameter).describe(parametersText),
  ...view,
}
const endpoint = z.object(shown)

export const warnings = z
  .array(warningShape)
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

nameComponents('input', {
  ParameterFields: parameterShape,
  EndpointFields: endpointFields,
  EndpointChange: endpointChange,
})
nameComponents('output', {
  Parameter: parameter,
  Endpoint: endpoint,
  ChangedEndpoint: changedEndpoint,
  Warning: warningShape,
  JsonPath: jsonPathShape,
})

const example = {
  name: 'slowest-requests',
  query:
    'SELECT timestamp, request_path, origin_time FROM edge_logs ' +
    'WHERE project = @project AND timestamp > @now - INTERVAL 1 DAY ORDER BY origin_time DESC LIMIT 20',
  parameters: { project: { required: true } },
}

export const endpointDocs: KindDocs = {
  name: 'Endpoint',
  tag: 'Endpoints',
  folder: 'endpoints',
  fields: endpointFields,
  example,
  change: endpointChange,
  changeExample: { max_rows: 100 },
  view: endpoint,
  changed: changedEndpoint,
  referenceExample: 'logs.all',
  changes: 'edit',
  texts: {
    reference: 'An endpoint named `query` needs its id here.',
    create: 'Checks the SQL before it stores anything.',
  },
  refusesBreaking: true,
}

export const params = referenceParams(endpointDocs)

export function addEndpointRoutes(server: FastifyInstance, { definitions, endpoints }: ServerOptions): void {
  addKindRoutes(server, definitions, endpointDocs)
  const route = routesOf(server, { tag: 'Endpoints', access: 'read' })
  route(
    'GET /api/endpoints/:reference/paths',
    'listJsonPaths',
    'List paths that an endpoint reads from JSON text',
    {
      description: 'Paths of `metadata` that a typed column (`columns` of the source) makes faster to read.',
      params,
      responses: { 200: json('All paths, in the order of the SQL.', z.array(jsonPathShape)) },
      handler: async ({ params }) => endpoints.paths(params.reference),
    },
  )
}
