import type { JsonValue, ParameterTypeName } from './parameter-declaration.ts'

/** Declarations whose types follow from the values. Each value is the example, so that the SQL is checked with it. */
export function declarationsOf(values: Readonly<Record<string, JsonValue>>) {
  const declared = Object.entries(values).map(([name, value]) => {
    return [name, value === null ? {} : { type: typeOf(value), required: true, example: value }] as const
  })
  return Object.fromEntries(declared)
}

function typeOf(value: string | number | boolean): ParameterTypeName {
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value === 'boolean' ? 'boolean' : 'string'
}
