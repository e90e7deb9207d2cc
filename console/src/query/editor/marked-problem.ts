import type { ApiError } from '../../api/api.ts'

/** The problem as the editor marks it; undefined where an error has no place in the SQL. */
export function markedProblem({ message, line, column = 1 }: ApiError) {
  return line === undefined ? undefined : { message, line, column }
}
