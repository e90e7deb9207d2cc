import { listValues } from '../../../shared/list-text.ts'
import type { JsonSchema } from '../../base/validation.ts'
import type { EndpointDefinition } from '../definition/definition.ts'
import type { Endpoint } from '../definition/endpoint.ts'
import {
  allDeclarations,
  itemOf,
  maxListValues,
  type ParameterDeclaration,
} from '../definition/parameter-declaration.ts'
import { isJsonColumn } from '../definition/result-columns.ts'
import { columnSchema } from './column-schema.ts'

interface ParameterSchema {
  name: string
  description: string
  schema: JsonSchema
  required?: boolean
  example?: Example | readonly Example[]
}

type Example = string | number | boolean

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
  const { parameters, sandbox } = definition
  const own = Object.entries(allDeclarations(parameters, compiled.names))
    .filter(([name]) => !Object.hasOwn(fixed, name))
    .map(([name, declaration]) => parameterOf(name, declaration))
  const description = 'One SELECT over the views of the query. Replaces the last SELECT of the query.'
  const sql = { name: 'sql', description, schema: { type: 'string' } }
  return sandbox ? [...own, sql] : own
}

function parameterOf(name: string, declaration: ParameterDeclaration): ParameterSchema {
  const { required, description, example, default: preset, enum: allowed } = declaration
  const isList = declaration.type === 'list'
  const { type } = itemOf(declaration)
  const valuesIn = (text: string) => (isList ? listValues(text) : [text])
  const texts = [preset, example].filter((text) => text !== undefined).flatMap(valuesIn)
  // A double cannot hold larger integers exactly.
  const isLarge =
    type === 'integer' && ![...texts, ...(allowed ?? [])].every((text) => Number.isSafeInteger(Number(text)))
  /** Declared values are stored as text. */
  const one = (text: string) => {
    if (type === 'boolean') return text === 'true' || text === '1'
    return type === 'number' || (type === 'integer' && !isLarge) ? Number(text) : text
  }
  const value = (text: string) => (isList ? listValues(text).map(one) : one(text))
  const item = {
    ...(isLarge ? { type: 'string', pattern: String.raw`^-?\d{1,19}$` } : schemas[type]),
    ...(allowed && { enum: allowed.map(one) }),
  }
  return {
    name,
    description:
      type === 'regex' ? [description, 'An RE2 regular expression.'].filter(Boolean).join(' ') : description,
    schema: {
      ...(isList ? { type: 'array', items: item, maxItems: maxListValues } : item),
      ...(preset !== undefined && { default: value(preset) }),
    },
    ...(required && { required }),
    ...(example !== undefined && { example: value(example) }),
  }
}

const schemas: Record<ReturnType<typeof itemOf>['type'], JsonSchema> = {
  integer: { type: 'integer', format: 'int64' },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  timestamp: { type: 'string', format: 'date-time' },
  date: { type: 'string', format: 'date' },
  string: { type: 'string' },
  regex: { type: 'string' },
}
