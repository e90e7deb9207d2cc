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
    return name === undefined ? [] : [{ name, at, open, renamesColumns }]
  })
}

/** Index of the SELECT that follows a leading WITH clause, or -1 if there is none. */
export function finalSelect(tokens: readonly CodeToken[]): number {
  if (!isKeyword(tokens[0], 'WITH')) return -1
  return tokens.findIndex((token) => token.depth === 0 && isKeyword(token, 'SELECT', 'FROM'))
}

/** The SQL without elements of the leading WITH clause that nothing uses: the engine plans them all. */
export function withoutUnused(sql: string, tokens: readonly CodeToken[]): string {
  const final = finalSelect(tokens)
  if (final < 0 || isKeyword(tokens[1], 'RECURSIVE')) return sql
  const elements = listItems(tokens, 1, final, 0).map(({ first, end }) => elementOf(tokens.slice(first, end)))
  // An element without a name uses syntax that this function does not know.
  if (elements.some(({ names }) => names.length === 0)) return sql
  const used = namesIn(tokens.slice(final))
  const kept = new Set<(typeof elements)[number]>()
  for (let size = -1; size !== kept.size; ) {
    size = kept.size
    for (const element of elements) {
      if (kept.has(element) || !element.names.some((name) => used.has(name))) continue
      kept.add(element)
      for (const name of namesIn(element.tokens)) used.add(name)
    }
  }
  if (kept.size === elements.length) return sql
  const texts = elements.filter((element) => kept.has(element)).map(({ tokens: own }) => textOf(sql, own))
  return (texts.length === 0 ? '' : `WITH\n${texts.join(',\n')}\n`) + sql.slice(tokens[final]?.start)
}

/** With the names that it can be used by: one for a subquery, and all aliases inside of an expression. */
function elementOf(tokens: readonly CodeToken[]) {
  const subquery = namedSubqueries(tokens).find(({ open }) => tokens[open]?.depth === 0)
  const names = subquery
    ? [subquery.name]
    : tokens.flatMap((token, index) => (isKeyword(tokens[index - 1], 'AS') && identifierOf(token)) || [])
  return { tokens, names: names.map((name) => name.toLowerCase()) }
}

/** In lower case: any identifier counts as a use of what the engine could look for. A quoted name can also stand for its parts. */
function namesIn(tokens: readonly CodeToken[]): Set<string> {
  const names = tokens.flatMap((token) => identifierOf(token)?.toLowerCase() ?? [])
  return new Set(names.flatMap((name) => [name, ...name.split('.')]))
}

function textOf(sql: string, tokens: readonly CodeToken[]): string {
  return sql.slice(tokens[0]?.start, tokens.at(-1)?.end)
}
