import { z } from 'zod'
import type { JsonSchema } from '../../base/validation.ts'

/** Whether a shape describes what callers send or what the service returns. */
export type Direction = 'input' | 'output'

/** Schemas of the document, and the names of those that customers generate types from. */
export class Components {
  readonly #names = { input: new Map<z.core.$ZodType, string>(), output: new Map<z.core.$ZodType, string>() }
  /** Endpoints of a caller share these schemas, so that a document for many endpoints is made quickly. */
  readonly #converted = { input: new Map<z.ZodType, JsonSchema>(), output: new Map<z.ZodType, JsonSchema>() }

  add({ input = {}, output = {} }: Partial<Record<Direction, Readonly<Record<string, z.ZodType>>>>): void {
    for (const [name, shape] of Object.entries(input)) this.#names.input.set(shape, name)
    for (const [name, shape] of Object.entries(output)) this.#names.output.set(shape, name)
  }

  /** All named schemas. */
  schemas(): Record<string, JsonSchema> {
    const directions = ['input', 'output'] as const
    return Object.fromEntries(
      directions.flatMap((direction) =>
        [...this.#names[direction]].map(([shape, name]) => [
          name,
          convert(shape, direction, this.#names[direction]),
        ]),
      ),
    )
  }

  schemaOf(shape: z.ZodType | JsonSchema, direction: Direction): JsonSchema {
    if (!(shape instanceof z.ZodType)) return shape
    const names = this.#names[direction]
    const name = names.get(shape)
    if (name !== undefined) return reference(name)
    const schema = this.#converted[direction].get(shape) ?? convert(shape, direction, names)
    this.#converted[direction].set(shape, schema)
    return schema
  }
}

/** Refers to a named schema. */
export function reference(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` }
}

function convert(
  shape: z.core.$ZodType,
  direction: Direction,
  names: ReadonlyMap<z.core.$ZodType, string>,
): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, {
    io: direction,
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema: node }) => {
      const name = names.get(zodSchema)
      if (name !== undefined && zodSchema !== shape) {
        for (const keyword of Object.keys(node)) delete node[keyword]
        return void Object.assign(node, reference(name))
      }
      // Transforms of these shapes return text.
      if (zodSchema._zod.def.type === 'transform') node.type = 'string'
      if (node.format !== undefined) delete node.pattern
      if (JSON.stringify(node.propertyNames) === '{"type":"string"}') delete node.propertyNames
      if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum
      if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum
      // Later versions may return more fields.
      if (direction === 'output' && node.additionalProperties === false) delete node.additionalProperties
      describeDefault(node, direction)
    },
  })
  return schema
}

/** Generated types treat a field with a default as required, so the default goes into the description. */
function describeDefault(node: { default?: unknown; description?: string }, direction: Direction): void {
  if (node.default === undefined) return
  const value = JSON.stringify(node.default)
  const texts = direction === 'input' && value !== '""' ? [node.description, `Default: ${value}.`] : []
  if (texts.length > 0) node.description = texts.filter(Boolean).join(' ')
  delete node.default
}
