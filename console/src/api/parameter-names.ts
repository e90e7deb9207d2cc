import { parametersIn } from '../../../src/shared/sql-tokens.ts'
import type { Endpoint } from './shapes.ts'

/** Names of the parameters that an endpoint declares, and of those that only its SQL uses. */
export function parameterNames({ parameters, query }: Pick<Endpoint, 'parameters' | 'query'>): string[] {
  return [...new Set([...Object.keys(parameters), ...parametersIn(query)])]
}
