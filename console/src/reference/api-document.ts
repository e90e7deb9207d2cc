/** The parts of an OpenAPI document that the page shows. */
export interface ApiDocument {
  info: { title: string; version: string; description: string }
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, ApiOperation>>
  components: Record<string, Record<string, unknown>>
}

interface ApiOperation {
  operationId: string
  tags: string[]
  summary: string
  description: string
  security: object[]
  parameters?: ApiParameter[]
  requestBody?: { content: Record<string, { schema?: FieldSchema; example?: unknown }> }
  responses: Record<string, object>
}

export interface ApiParameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  description: string
  schema: FieldSchema
  example?: unknown
}

export interface FieldSchema {
  $ref?: string
  type?: string | string[]
  format?: string
  enum?: unknown[]
  default?: unknown
  items?: FieldSchema
  anyOf?: FieldSchema[]
  description?: string
  readOnly?: boolean
  properties?: Record<string, FieldSchema>
  required?: string[]
}

export type Operation = ApiOperation & { method: string; path: string }

export function operationsOf({ paths }: ApiDocument): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    })),
  )
}

/** Follows a reference. */
export function resolved(document: ApiDocument, part: object): object {
  if (!('$ref' in part)) return part
  const [, , group = '', ...name] = String(part.$ref).split('/')
  return (document.components[group]?.[name.join('/')] ?? {}) as object
}

export function bodyFields(document: ApiDocument, { requestBody }: ApiOperation) {
  const schema = requestBody?.content['application/json']?.schema
  if (!schema) return []
  const { anyOf } = resolved(document, schema) as FieldSchema
  const { properties = {}, required = [] } = resolved(document, anyOf?.[0] ?? schema) as FieldSchema
  return Object.entries(properties)
    .filter(([, field]) => field.readOnly !== true)
    .map(([name, schema]) => ({
      name,
      schema,
      description: schema.description ?? '',
      required: required.includes(name),
    }))
}

/** A schema in a few words. */
export function typeText(schema: FieldSchema): string {
  const { enum: values, default: preset } = schema
  const allowed = values === undefined ? '' : `: ${values.map((value) => `\`${String(value)}\``).join(', ')}`
  const unless = preset === undefined ? '' : `; default \`${String(preset)}\``
  return `${kindText(schema)}${allowed}${unless}`
}

function kindText({ $ref, type, format, items, anyOf }: FieldSchema): string {
  if ($ref !== undefined) return $ref.slice($ref.lastIndexOf('/') + 1)
  if (anyOf) return anyOf.map(kindText).join(' or ')
  if (type === undefined) return 'any'
  if (type === 'array' && items) return `list of ${kindText(items)}`
  const kinds = [type].flat().join(' or ')
  return format === undefined ? kinds : `${kinds} (${format})`
}
