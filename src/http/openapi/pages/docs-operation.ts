/** The parts of an operation of the document that the page shows. */
export interface DescribedOperation {
  method: string
  path: string
  operationId: string
  tags: string[]
  summary: string
  description: string
  security: object[]
  parameters?: DescribedParameter[]
  requestBody?: { content: Record<string, { schema?: FieldSchema; example?: unknown }> }
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
  properties?: Record<string, FieldSchema>
  required?: string[]
}
