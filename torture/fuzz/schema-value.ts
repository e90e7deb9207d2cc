import { type Dice, nastyTexts } from './dice.ts'

/** The part of JSON Schema that the OpenAPI document uses. */
export interface Schema {
  $ref?: string
  type?: string | readonly string[]
  enum?: readonly unknown[]
  const?: unknown
  example?: unknown
  format?: string
  minimum?: number
  maximum?: number
  anyOf?: readonly Schema[]
  oneOf?: readonly Schema[]
  allOf?: readonly Schema[]
  items?: Schema
  properties?: Readonly<Record<string, Schema>>
  required?: readonly string[]
  additionalProperties?: boolean | Schema
}

/** Plausible values by name, so that a request passes its first check. */
export type NamedValues = Readonly<Record<string, readonly unknown[]>>

export interface SchemaSource {
  dice: Dice
  named: NamedValues
  /** Resolves a `$ref`. */
  resolve(reference: string): Schema
}

const maxDepth = 6

/** A value that usually matches the schema. */
export function schemaValue(schema: Schema, source: SchemaSource, name = '', depth = 0): unknown {
  const { dice, named, resolve } = source
  if (schema.$ref !== undefined) return schemaValue(resolve(schema.$ref), source, name, depth)
  const known = Object.hasOwn(named, name) ? named[name] : undefined
  if (known && dice.percent(80)) return dice.pick(known)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return schemaValue(dice.pick(choices), source, name, depth)
  if (schema.allOf) {
    return Object.assign({}, ...schema.allOf.map((part) => schemaValue(part, source, name, depth)))
  }
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return dice.pick(schema.enum)
  if (schema.example !== undefined && dice.percent(50)) return schema.example
  const type = typeof schema.type === 'object' ? dice.pick(schema.type) : schema.type
  switch (type) {
    case 'object':
      return depth < maxDepth ? objectOf(schema, source, depth) : {}
    case 'array':
      return Array.from({ length: depth < maxDepth ? dice.below(4) : 0 }, () =>
        schemaValue(schema.items ?? {}, source, name, depth + 1),
      )
    case 'integer':
    case 'number':
      return numberOf(schema, dice)
    case 'boolean':
      return dice.percent(50)
    case 'null':
      return null
    case 'string':
      return textOf(schema, dice)
    default:
      return dice.pick(['a', 1, true, null, { a: 'b' }, ['c']])
  }
}

function objectOf(schema: Schema, source: SchemaSource, depth: number): Record<string, unknown> {
  const { dice } = source
  const entries: [string, unknown][] = []
  for (const [name, each] of Object.entries(schema.properties ?? {})) {
    if (schema.required?.includes(name) || dice.percent(30)) {
      entries.push([name, schemaValue(each, source, name, depth + 1)])
    }
  }
  const { additionalProperties: more } = schema
  if (more !== undefined && more !== false) {
    for (let left = dice.below(3); left > 0; left--) {
      const name = dice.pick(['project', 'a', 'interval', 'project_tier', 'iso_timestamp_start', 'sql'])
      entries.push([name, schemaValue(typeof more === 'object' ? more : {}, source, name, depth + 1)])
    }
  }
  return Object.fromEntries(entries)
}

function numberOf({ minimum = -5, maximum = minimum + 2000 }: Schema, dice: Dice): number {
  return dice.percent(20) ? dice.pick([minimum, maximum]) : minimum + dice.below(maximum - minimum + 1)
}

function textOf({ format }: Schema, dice: Dice): string {
  if (format === 'uuid') return '5f0b7a11-4f0e-4c39-9d0e-6f1c3f0b7a11'
  if (format === 'date-time') return dice.pick(['2026-01-01T00:00:00Z', '2036-01-01T00:00:00.5+02:00'])
  return dice.percent(50) ? `t${dice.below(50)}` : dice.pick(nastyTexts)
}
