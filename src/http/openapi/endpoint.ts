import type { Endpoint } from '../../endpoints/definition/endpoint.ts'
import { limitsOf, parameterSchemas, rowSchema } from '../../endpoints/schema/endpoint-schema.ts'
import type { Operation } from '../routes/route.ts'
import { callErrors, callQuery, followHeaders, resultResponses } from './call.ts'
import type { DescribedParameter } from './operation.ts'

/** The caller who reads the description of an endpoint. */
export interface Reader {
  /** Parameters that the token fixes; they are left out. */
  parameters: Readonly<Record<string, string>>
}

interface EndpointDescription {
  path: string
  operation: Operation
  /** Parameters of the endpoint. */
  parameters: DescribedParameter[]
  rowName: string
  row: object
}

/** A saved endpoint as an operation of its own, with the columns of its rows. */
export function describeEndpoint(endpoint: Endpoint, reader: Reader): EndpointDescription {
  const { definition } = endpoint
  const { name, sandbox } = definition
  // The prefix keeps the name apart from other components, such as Error.
  const rowName = `row.${name}`
  const row = { $ref: `#/components/schemas/${rowName}` }
  const items = sandbox ? { anyOf: [row, { type: 'object', additionalProperties: true }] } : row
  return {
    path: `/api/endpoints/query/${name}`,
    rowName,
    row: { ...rowSchema(endpoint), additionalProperties: false },
    parameters: parameterSchemas(endpoint, reader.parameters).map((one) => ({ ...one, in: 'query' })),
    operation: {
      id: `query.${name}`,
      tag: 'Saved endpoints',
      access: 'query',
      summary: name,
      description: [definition.description, limitsOf(endpoint)].filter(Boolean).join('\n\n'),
      query: callQuery,
      headers: followHeaders,
      responses: resultResponses(
        { type: 'array', items, maxItems: definition.max_rows },
        { explained: false, streamed: true },
      ),
      errors: callErrors,
    },
  }
}
