/** Parts of the OpenAPI document. */
export interface DescribedOperation {
  operationId: string
  tags: string[]
  summary: string
  description: string
  security: object[]
  parameters?: DescribedParameter[]
  requestBody?: { required: boolean; content: Record<string, { schema?: FieldSchema; example?: unknown }> }
  responses: Record<string, object>
}

export interface DescribedParameter {
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
  example?: unknown
  properties?: Record<string, FieldSchema>
  required?: string[]
}
