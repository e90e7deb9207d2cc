import type { Parameter } from '../../api/shapes.ts'

export type ParameterType = NonNullable<Parameter['type']>

/** Where values of a parameter occur in the data. */
export interface SeenAt {
  source: string
  path: string
}

export const parameterTypes: readonly ParameterType[] = [
  'string',
  'integer',
  'number',
  'boolean',
  'timestamp',
  'date',
  'regex',
  'list',
]

/** The type that a value looks like. Projects are text in every source. */
export function likelyType(name: string, value: string): ParameterType {
  if (name === 'project') return 'string'
  // Zeros in front and more digits than a number keeps belong to an id.
  if (/^-?(?:0|[1-9]\d{0,14})$/.test(value)) return 'integer'
  if (/^-?(?:0|[1-9]\d{0,14})\.\d{1,15}$/.test(value)) return 'number'
  if (/^(?:true|false)$/.test(value)) return 'boolean'
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)$/.test(value)) return 'timestamp'
  return 'string'
}
