import type { Parameter, Parameters } from '../api/shapes.ts'

export type ParameterType = NonNullable<Parameter['type']>

export const parameterTypes: readonly ParameterType[] = [
  'string',
  'integer',
  'number',
  'boolean',
  'timestamp',
  'regex',
]

/** A query with the values of its parameters. */
export interface Question {
  query: string
  values: Readonly<Record<string, string>>
  /** Types that the user chose. The others follow from the values. */
  types: Readonly<Record<string, ParameterType>>
}

export const noQuestion: Question = { query: '', values: {}, types: {} }

/** Comments, strings and quoted names, which hide parameters; or a parameter. */
const parts =
  /(?:--|\/\/|#[ !])[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^'\\]|\\[\s\S])*'|"(?:[^"\\]|\\[\s\S])*"|`(?:[^`\\]|\\[\s\S])*`|@@\w*|@([A-Za-z_]\w*)/g

/** Names of the parameters in a query, in order. They are known before the query is valid. */
export function parametersIn(query: string): string[] {
  const names = [...query.matchAll(parts)].flatMap(([, name]) => (name === undefined ? [] : [name]))
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

/** Declares each parameter that the query uses, as a saved endpoint does. */
export function declaredParameters({ query, values, types }: Question): Parameters {
  return Object.fromEntries(
    parametersIn(query).map((name) => [
      name,
      { type: types[name] ?? likelyType(name, values[name] ?? ''), required: true },
    ]),
  )
}

/**
 * Declares each parameter with its value as the example, with which the service checks the SQL. Without a value, a wrong guess
 * of the type would make a valid query an error. Saved endpoints have no examples, because their callers would see them.
 */
export function triedParameters(question: Question): Parameters {
  const { values, types } = question
  const known = Object.entries(declaredParameters(question)).flatMap(([name, declared]) => {
    const example = values[name]
    if (example === undefined) return types[name] === undefined ? [] : [[name, declared] as const]
    // A value may not fit a type that the user chose. The run reports that beside the field.
    const fits = types[name] === undefined || types[name] === 'string'
    return [[name, fits ? { ...declared, example } : declared] as const]
  })
  return Object.fromEntries(known)
}
