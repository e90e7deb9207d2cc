import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Definitions } from '../../definitions/definitions.ts'
import { parameterShape, parameterView } from '../../endpoints/definition/parameter-declaration.ts'
import type { Endpoints } from '../../endpoints/manage/endpoints.ts'
import { jsonPathShape } from '../../sql/paths.ts'
import { warningShape } from '../../sql/warnings/warning.ts'
import { nameComponents } from '../openapi/json-schema.ts'
import { referenceParams } from './kind-routes.ts'
import { json, routesOf } from './route.ts'

nameComponents('input', { ParameterFields: parameterShape })
nameComponents('output', { Parameter: parameterView, Warning: warningShape, JsonPath: jsonPathShape })

export const params = referenceParams('endpoints')

export function addEndpointRoutes(
  server: FastifyInstance,
  { definitions, endpoints }: { definitions: Definitions; endpoints: Endpoints },
): void {
  const route = routesOf(server, { tag: 'Endpoints', access: 'read' })
  route(
    'GET /api/endpoints/:reference/paths',
    'listJsonPaths',
    'List paths that an endpoint reads from JSON text',
    {
      description: 'Paths of `metadata` that a typed column (`columns` of the source) makes faster to read.',
      params,
      responses: { 200: json('All paths, in the order of the SQL.', z.array(jsonPathShape)) },
      handler: async ({ params, caller }) =>
        endpoints.paths(definitions.find('endpoints', params.reference, caller)),
    },
  )
}
