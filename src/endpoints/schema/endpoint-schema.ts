import type { JsonSchema } from '../../base/validation.ts'
import type { EndpointDefinition } from '../definition/definition.ts'
import type { Endpoint } from '../definition/endpoint.ts'
import type { ParameterDeclaration } from '../definition/parameter-declaration.ts'
import { isJsonColumn } from '../definition/result-columns.ts'
import { columnSchema } from './column-schema.ts'

interface ParameterSchema {
  name: string
  description: string
  schema: JsonSchema
  required?: boolean
  example?: string | number | boolean
}

/** Any type: a query can make any JSON. */
const jsonColumn: JsonSchema = { description: 'JSON, as it was sent.' }

export function rowSchema(
  { columns, definition }: Endpoint,
  timestamps: EndpointDefinition['timestamps'] = definition.timestamps,
): JsonSchema {
  const properties = Object.fromEntries(
    columns.map((column) => [
      column.name,
      isJsonColumn(column, definition.json) ? jsonColumn : columnSchema(column.type, timestamps),
    ]),
  )
  return { type: 'object', properties, required: Object.keys(properties) }
}

export function limitsOf({ definition, version }: Endpoint): string {
  const { max_rows, cache_seconds, warm_seconds, timeout_seconds } = definition
  const refreshed = warm_seconds === null ? '' : ` and refreshed every ${warm_seconds} s`
  const cached =
    cache_seconds === null
      ? 'Results are not cached.'
      : `Results are cached for ${cache_seconds} s${refreshed}.`
  return `At most ${max_rows} rows. Times out after ${timeout_seconds} s. ${cached} Version ${version}.`
}

/** Declared parameters, and those that the SQL uses without a declaration, without those that the token fixes. */
export function parameterSchemas(
  { definition, compiled }: Endpoint,
  fixed: Readonly<Record<string, string>>,
): ParameterSchema[] {
  const { parameters: declared, sandbox } = definition
  const names = new Set([...Object.keys(declared), ...compiled.names])
  const own = [...names]
    .filter((name) => !Object.hasOwn(fixed, name))
    .map((name) => parameterOf(name, Object.hasOwn(declared, name) ? declared[name] : undefined))
  const description = 'One SELECT over the views of the query. Replaces the last SELECT of the query.'
  const sql = { name: 'sql', description, schema: { type: 'string' } }
  return sandbox ? [...own, sql] : own
}

function parameterOf(name: string, declaration: ParameterDeclaration | undefined): ParameterSchema {
  if (!declaration) return { name, description: '', schema: { type: 'string' } }
  const { type, required, description, example, default: preset, enum: allowed } = declaration
  const read = valueReader(declaration)
  return {
    name,
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
