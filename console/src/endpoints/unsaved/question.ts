import { parametersIn } from '../../../../src/shared/sql-tokens.ts'
import type { Parameters } from '../../api/shapes.ts'
import { likelyType, type ParameterType } from '../../query/run/sql-parameters.ts'
import type { EndpointDraft } from '../endpoint-draft.ts'

/** What a link to an unsaved endpoint holds, and the history. */
export interface Question {
  query: string
  values: Readonly<Record<string, string>>
  /** Types that the user declared. The others follow from the values. */
  types: Readonly<Record<string, ParameterType>>
}

export const noQuestion: Question = { query: '', values: {}, types: {} }

type Asked = Pick<EndpointDraft, 'query' | 'parameters'>

export function questionFor({ query, parameters }: Asked, values: Question['values']): Question {
  const types = Object.entries(parameters).flatMap(([name, { type }]) => (type ? [[name, type]] : []))
  return { query, values, types: Object.fromEntries(types) }
}

export function askedBy({ query, types }: Omit<Question, 'values'>): Asked {
  const parameters = Object.entries(types).map(([name, type]) => [name, { type, required: true }])
  return { query, parameters: Object.fromEntries(parameters) }
}

/** Adds the parameters that the query uses without a declaration, as the saved endpoint has them. */
export function declaredParameters({ query, parameters }: Asked, values: Question['values']): Parameters {
  const others = undeclared(query, parameters).map((name) => [
    name,
    { type: likelyType(name, values[name] ?? ''), required: true },
  ])
  return { ...parameters, ...Object.fromEntries(others) }
}

/**
 * Adds the parameters that have a value, with the value as the example, with which the service checks the SQL. Without a
 * value, a wrong guess of the type would make a valid query an error. Saved endpoints have no examples, because their callers
 * would see them.
 */
export function triedParameters({ query, parameters }: Asked, values: Question['values']): Parameters {
  const others = undeclared(query, parameters).flatMap((name) => {
    const example = values[name]
    return example === undefined ? [] : [[name, { type: likelyType(name, example), required: true, example }]]
  })
  return { ...parameters, ...Object.fromEntries(others) }
}

function undeclared(query: string, declared: Parameters): string[] {
  return parametersIn(query, true).filter((name) => !Object.hasOwn(declared, name))
}
