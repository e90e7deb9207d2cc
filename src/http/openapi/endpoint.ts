import type { Endpoint } from '../../endpoints/definition/endpoint.ts'
import type { ParameterDeclaration } from '../../endpoints/definition/parameter-declaration.ts'
import { isJsonColumn } from '../../endpoints/definition/result-columns.ts'
import type { Operation } from '../routes/route.ts'
import { callErrors, callQuery, followHeaders, resultResponses } from './call.ts'
import { columnSchema } from './column-schema.ts'
import type { JsonSchema } from './json-schema.ts'
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

/** Any type: a query can make any JSON. */
const jsonColumn: JsonSchema = { description: 'JSON, as it was sent.' }

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
    row: rowSchema(endpoint),
    parameters: parametersOf(endpoint, reader),
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

function rowSchema({ columns, definition }: Endpoint): object {
  const properties = Object.fromEntries(
    columns.map((column) => [
      column.name,
      isJsonColumn(column, definition.json) ? jsonColumn : columnSchema(column.type),
    ]),
  )
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

function limitsOf({ definition, version }: Endpoint): string {
  const { max_rows, cache_seconds, warm_seconds, timeout_seconds } = definition
  const refreshed = warm_seconds === null ? '' : ` and refreshed every ${warm_seconds} s`
  const cached =
    cache_seconds === null
      ? 'Results are not cached.'
      : `Results are cached for ${cache_seconds} s${refreshed}.`
  return `At most ${max_rows} rows. Times out after ${timeout_seconds} s. ${cached} Version ${version}.`
}

/** Declared parameters, and those that the SQL uses without a declaration. */
function parametersOf({ definition, compiled }: Endpoint, reader: Reader): DescribedParameter[] {
  const { parameters: declared, sandbox } = definition
  const names = new Set([...Object.keys(declared), ...compiled.names])
  const own = [...names]
    .filter((name) => !Object.hasOwn(reader.parameters, name))
    .map((name) => parameterOf(name, Object.hasOwn(declared, name) ? declared[name] : undefined))
  const description = 'One SELECT over the views of the query. Replaces the last SELECT of the query.'
  const sql: DescribedParameter = { name: 'sql', in: 'query', description, schema: { type: 'string' } }
  return sandbox ? [...own, sql] : own
}

function parameterOf(name: string, declaration: ParameterDeclaration | undefined): DescribedParameter {
  if (!declaration) return { name, in: 'query', description: '', schema: { type: 'string' } }
  const { type, required, description, example, default: preset, enum: allowed } = declaration
  const read = valueReader(declaration)
  return {
    name,
    in: 'query',
    description:
      type === 'regex' ? [description, 'An RE2 regular expression.'].filter(Boolean).join(' ') : description,
    schema: {
      ...read.schema,
      ...(allowed && { enum: allowed.map(read.value) }),
      ...(preset !== undefined && { default: read.value(preset) }),
    },
    ...(required && { required }),
    ...(example !== undefined && { example: read.value(example) }),
  }
}

interface ValueReader {
  schema: JsonSchema
  /** Converts a declared value, which is stored as text, to the type of the schema. */
  value: (text: string) => string | number | boolean
}

function valueReader({ type, default: preset, example, enum: allowed }: ParameterDeclaration): ValueReader {
  const texts = [preset, example, ...(allowed ?? [])].filter((text) => text !== undefined)
  const asIs = (text: string) => text
  switch (type) {
    case 'integer':
      // A double cannot hold larger integers exactly.
      return texts.every((text) => Number.isSafeInteger(Number(text)))
        ? { schema: { type: 'integer', format: 'int64' }, value: Number }
        : { schema: { type: 'string', pattern: String.raw`^-?\d{1,19}$` }, value: asIs }
    case 'number':
      return { schema: { type: 'number' }, value: Number }
    case 'boolean':
      return { schema: { type: 'boolean' }, value: (text) => text === 'true' || text === '1' }
    case 'timestamp':
      return { schema: { type: 'string', format: 'date-time' }, value: asIs }
    case 'string':
    case 'regex':
      return { schema: { type: 'string' }, value: asIs }
  }
}
