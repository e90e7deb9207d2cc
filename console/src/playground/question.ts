import type { Parameters } from '../api/shapes.ts'
import { likelyType, type ParameterType, parametersIn } from '../endpoints/run/sql-parameters.ts'

/** A query with the values of its parameters. */
export interface Question {
  query: string
  values: Readonly<Record<string, string>>
  /** Types that the user chose. The others follow from the values. */
  types: Readonly<Record<string, ParameterType>>
}

export const noQuestion: Question = { query: '', values: {}, types: {} }

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
