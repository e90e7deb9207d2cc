import { type CodeToken, identifierOf, isKeyword, isSymbol, listItems, startsQuery } from './tokens.ts'

/** Subqueries that are defined as "name AS (SELECT …)", at any depth. The syntax tree does not show them. */
export function namedSubqueries(tokens: readonly CodeToken[]) {
  return tokens.flatMap((token, open) => {
    if (!isSymbol(token, '(') || !startsQuery(tokens, open + 1)) return []
    let at = open - 1
    if (isKeyword(tokens[at], 'MATERIALIZED')) at--
    if (!isKeyword(tokens[at], 'AS')) return []
    at--
    // name (column, …) AS (SELECT …)
    const renamesColumns = isSymbol(tokens[at], ')')
    if (renamesColumns) {
      const { depth } = tokens[at] as CodeToken
      at--
      while (at >= 0 && (tokens[at] as CodeToken).depth > depth) at--
      at--
    }
    const name = identifierOf(tokens[at])
    return name === undefined ? [] : [{ name, open, renamesColumns }]
  })
}

/** Index of the SELECT that follows a leading WITH clause, or -1 if there is none. */
export function finalSelect(tokens: readonly CodeToken[]): number {
  if (!isKeyword(tokens[0], 'WITH')) return -1
  return tokens.findIndex((token) => token.depth === 0 && isKeyword(token, 'SELECT', 'FROM'))
}

/** The elements of a leading WITH clause, and the index of the SELECT after it. */
export function withElements(tokens: readonly CodeToken[]) {
  const final = finalSelect(tokens)
  if (final < 0 || isKeyword(tokens[1], 'RECURSIVE')) return undefined
  const elements = listItems(tokens, 1, final, 0)
  return { final, elements: elements.map(({ first, end }) => elementOf(tokens.slice(first, end))) }
}

/** With the names that it can be used by, in lower case: one for a subquery, and all aliases inside of an expression. */
function elementOf(tokens: readonly CodeToken[]) {
  const subquery = namedSubqueries(tokens).find(({ open }) => tokens[open]?.depth === 0)
  const names = subquery
    ? [subquery.name]
    : tokens.flatMap((token, index) => (isKeyword(tokens[index - 1], 'AS') && identifierOf(token)) || [])
  return { tokens, names: names.map((name) => name.toLowerCase()), isSubquery: subquery !== undefined }
}
