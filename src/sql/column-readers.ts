import { findPaths } from './paths.ts'
import { codeTokens, identifierOf, isKeyword, possibleSources } from './tokens.ts'

/** Whether a query reads a typed column by its name. A path of metadata is not a use: it works without the column. */
export function readsColumn(sql: string, source: string, column: string): boolean {
  if (!possibleSources(sql).has(source)) return false
  const tokens = codeTokens(sql)
  const paths = findPaths(sql, tokens).map(({ path }) => path)
  const uses = tokens.flatMap((token, at) =>
    identifierOf(token) === column && paths.every(({ first, end }) => at < first || at >= end) ? at : [],
  )
  const isAlias = (at: number) => isKeyword(tokens[at - 1], 'AS')
  // A name that the query gives to something else hides the column, except where the name is given.
  const isHidden = uses.some(isAlias)
  return uses.some((at) => !isAlias(at) && (!isHidden || isKeyword(tokens[at + 1], 'AS')))
}
