import type { Endpoint } from '../../endpoints/definition/endpoint.ts'
import type { ParameterDeclaration } from '../../endpoints/definition/parameter-declaration.ts'
import { isJsonColumn } from '../../endpoints/definition/result-columns.ts'
import { callErrors, controlParameters, followed, resultAnswers } from './calling.ts'
import { columnSchema, type JsonSchema } from './column-schema.ts'
import { inAddress, type Operation } from './operation.ts'

/** Who reads the description of an endpoint. */
export interface Reader {
  /** Parameters whose value the token fixes: they are none of the reader's business. */
  parameters: Readonly<Record<string, string>>
}

export interface EndpointDescription {
  operation: Operation
  rowName: string
  row: object
}

/** Whatever the text holds: in logs an object, but a query may make any JSON, and other text is a string. */
const jsonColumn: JsonSchema = { description: 'JSON, as it was sent.' }

/** A saved endpoint as an operation of its own, with the columns of its rows. */
export function describeEndpoint(endpoint: Endpoint, reader: Reader): EndpointDescription {
  const { definition } = endpoint
  const { name, sandbox } = definition
  // The prefix keeps an endpoint with the name Error apart from the shape of errors.
  const rowName = `row.${name}`
  const row = { $ref: `#/components/schemas/${rowName}` }
  const items = sandbox ? { anyOf: [row, { type: 'object', additionalProperties: true }] } : row
  return {
    rowName,
    row: rowSchema(endpoint),
    operation: {
      method: 'get',
      path: `/api/endpoints/query/${name}`,
      id: `query.${name}`,
      tag: 'Saved endpoints',
      access: 'query',
      summary: name,
      description: [definition.description, habits(endpoint)].filter(Boolean).join('\n\n'),
      parameters: [...parametersOf(endpoint, reader), ...controlParameters(), followed],
      answers: resultAnswers({ type: 'array', items, maxItems: definition.max_rows }, { streamed: true }),
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

function habits({ definition, version }: Endpoint): string {
  const { max_rows, cache_seconds, warm_seconds, timeout_seconds } = definition
  const kept =
    cache_seconds === null
      ? 'Results are not kept.'
      : `Results are kept for ${cache_seconds} s${warm_seconds === null ? '' : ` and renewed every ${warm_seconds} s`}.`
  return `At most ${max_rows} rows within ${timeout_seconds} s. ${kept} Version ${version}.`
}

/** Those that are declared, and those that the SQL uses without a declaration. */
function parametersOf({ definition, compiled }: Endpoint, reader: Reader): object[] {
  const { parameters: declared, sandbox } = definition
  const names = new Set([...Object.keys(declared), ...compiled.names])
  const own = [...names]
    .filter((name) => !Object.hasOwn(reader.parameters, name))
    .map((name) => parameterOf(name, Object.hasOwn(declared, name) ? declared[name] : undefined))
  const sql = inAddress('sql', 'One SELECT over the views of the query, in place of its last one.', {
    type: 'string',
  })
  return sandbox ? [...own, sql] : own
}

function parameterOf(name: string, declaration: ParameterDeclaration | undefined): object {
  if (!declaration) return inAddress(name, '', { type: 'string' })
  const { type, required, description, example, default: preset, enum: allowed } = declaration
  const read = valueReader(declaration)
  return inAddress(
    name,
    type === 'regex' ? [description, 'A regular expression of RE2.'].filter(Boolean).join(' ') : description,
    {
      ...read.schema,
      ...(allowed && { enum: allowed.map(read.value) }),
      ...(preset !== undefined && { default: read.value(preset) }),
    },
    { ...(required && { required }), ...(example !== undefined && { example: read.value(example) }) },
  )
}

interface ValueReader {
  schema: JsonSchema
  /** A value of the declaration, which has them all as texts, in the type of the schema. */
  value: (text: string) => string | number | boolean
}

function valueReader({ type, default: preset, example, enum: allowed }: ParameterDeclaration): ValueReader {
  const texts = [preset, example, ...(allowed ?? [])].filter((text) => text !== undefined)
  const asIs = (text: string) => text
  switch (type) {
    case 'integer':
      // What a double cannot hold would be another number in this document.
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
