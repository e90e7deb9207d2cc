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
  'regex',
]

/** Comments, strings and quoted names, which hide parameters; or a parameter. */
const parameterParts =
  /(?:--|\/\/|#[ !])[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^'\\]|\\[\s\S])*'?|"(?:[^"\\]|\\[\s\S])*"?|`(?:[^`\\]|\\[\s\S])*`?|@@\w*|@([A-Za-z_]\w*)/g

/** Names of the parameters in a query, in order. They are known before the query is valid. */
export function parametersIn(query: string): string[] {
  const parts = [...query.matchAll(parameterParts)]
  // A quote that is not closed yet hides nothing.
  const open = parts.at(-1)?.[0] ?? ''
  if (/^['"`]/.test(open) && (open.length === 1 || !open.endsWith(open.charAt(0)))) {
    parts.push(...open.matchAll(/@@\w*|@([A-Za-z_]\w*)/g))
  }
  const names = parts.flatMap(([, name]) => (name === undefined ? [] : [name]))
  return [...new Set(names)].filter((name) => name !== 'now')
}

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
