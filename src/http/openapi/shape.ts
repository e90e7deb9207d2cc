import { z } from 'zod'

export interface ObjectSchema {
  [keyword: string]: unknown
  type: 'object'
  properties: Record<string, Record<string, unknown>>
  required?: string[]
}

/** Texts for the fields of a shape, by name. */
export type Notes = Readonly<Record<string, string>>

/** What a schema is for: for making something, for changing some of its fields, or for an answer. */
type Use = 'input' | 'change' | 'output'

/** The JSON schema of a shape, with a text for every field. */
export function schemaOf(shape: z.ZodType, use: Use, notes: Notes = {}): ObjectSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, {
    io: use === 'output' ? 'output' : 'input',
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      // Whatever is read into another form here is a text afterwards.
      if (zodSchema._zod.def.type === 'transform') jsonSchema.type = 'string'
      // The format says it in a word.
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      // Answers may get more fields, and callers should not mind.
      if (use === 'output' && jsonSchema.additionalProperties === false)
        delete jsonSchema.additionalProperties
      tellDefault(jsonSchema, use)
    },
  }) as unknown as ObjectSchema
  for (const [name, property] of Object.entries(schema.properties)) {
    const description = [notes[name], property.description].filter(Boolean).join(' ')
    if (description !== '') property.description = description
  }
  if (use === 'change') delete schema.required
  return schema
}

/** In words: generators of types take a field that has a default for one that is always there. */
function tellDefault(schema: { default?: unknown; description?: string }, use: Use): void {
  if (schema.default === undefined) return
  const preset = JSON.stringify(schema.default)
  if (use === 'input' && preset !== '""') schema.description = `Default: ${preset}.`
  delete schema.default
}

/** With the fields of both. */
export function joined(one: ObjectSchema, other: ObjectSchema): ObjectSchema {
  return {
    ...one,
    properties: { ...one.properties, ...other.properties },
    required: [...(one.required ?? []), ...(other.required ?? [])],
  }
}

/** With other schemas for some of its fields, whose texts stay. */
export function withFields(schema: ObjectSchema, fields: Record<string, object>): ObjectSchema {
  const changed = Object.entries(fields).map(([name, field]) => {
    const description = schema.properties[name]?.description
    return [name, { ...field, ...(description !== undefined && { description }) }]
  })
  return { ...schema, properties: { ...schema.properties, ...Object.fromEntries(changed) } }
}
