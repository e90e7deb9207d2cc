import { type CodeToken, codeTokens, identifierOf, isKeyword, isSymbol, startsQuery } from './tokens.ts'

interface NamedSubquery {
  name: string
  /** Index of the bracket that opens it. */
  open: number
  /** Whether its columns are renamed, as in "name (column, …) AS (SELECT …)". */
  renamesColumns: boolean
}

/** Subqueries that are defined as "name AS (SELECT …)", at any depth. The syntax tree does not show them. */
export function namedSubqueries(tokens: readonly CodeToken[]): NamedSubquery[] {
  return tokens.flatMap((token, open) => {
    if (!isSymbol(token, '(') || !startsQuery(tokens, open + 1)) return []
    let at = open - 1
    if (isKeyword(tokens[at], 'MATERIALIZED')) at--
    if (!isKeyword(tokens[at], 'AS')) return []
    at--
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

export function subqueryNames(sql: string): Set<string> {
  return new Set(namedSubqueries(codeTokens(sql)).map(({ name }) => name))
}

export interface WithClause {
  /** From WITH up to the final SELECT. */
  text: string
  /** Names of its subqueries, in the order of their definition. */
  names: string[]
}

/** The WITH clause that a query starts with, or undefined if it does not start with one. */
export function leadingWith(sql: string): WithClause | undefined {
  const tokens = codeTokens(sql)
  const final = finalSelect(tokens)
  if (final < 0) return undefined
  const subqueries = namedSubqueries(tokens.slice(0, final))
  return {
    text: sql.slice(tokens[0]?.start, tokens[final]?.start),
    names: subqueries.flatMap(({ name, open }) => (tokens[open]?.depth === 0 ? name : [])),
  }
}

/** Index of the SELECT that follows a leading WITH clause, or -1 if there is none. */
function finalSelect(tokens: readonly CodeToken[]): number {
  if (!isKeyword(tokens[0], 'WITH')) return -1
  return tokens.findIndex((token) => token.depth === 0 && isKeyword(token, 'SELECT', 'FROM'))
}

/**
 * Removes unused elements of the WITH clause, because the engine analyzes every element, used or not. Any identifier
 * counts as a use, so nothing is removed that the engine could look for.
 */
export function withoutUnused(sql: string): string {
  const tokens = codeTokens(sql)
  const final = finalSelect(tokens)
  if (final < 0 || isKeyword(tokens[1], 'RECURSIVE')) return sql
  const elements = elementsOf(tokens.slice(1, final))
  const used = new Set<string>()
  const use = (some: readonly CodeToken[]) => {
    for (const token of some) {
      const name = identifierOf(token)?.toLowerCase()
      if (name !== undefined) for (const part of [name, ...name.split('.')]) used.add(part)
    }
  }
  use(tokens.slice(final))
  const kept = new Set<WithElement>()
  for (let found = true; found; ) {
    const more = elements.filter((each) => !kept.has(each) && each.names.some((name) => used.has(name)))
    found = more.length > 0
    for (const each of more) {
      kept.add(each)
      use(each.tokens)
    }
  }
  // An element without a name uses syntax that this function does not know.
  if (kept.size === elements.length || elements.some(({ names }) => names.length === 0)) return sql
  const text = elements
    .filter((each) => kept.has(each))
    .map(({ tokens: own }) => sql.slice(own[0]?.start, own.at(-1)?.end))
  const rest = sql.slice(tokens[final]?.start)
  return text.length === 0 ? rest : `WITH\n${text.join(',\n')}\n${rest}`
}

interface WithElement {
  tokens: readonly CodeToken[]
  /** Names that it can be used by, in lower case. */
  names: readonly string[]
}

function elementsOf(tokens: readonly CodeToken[]): WithElement[] {
  const elements: CodeToken[][] = [[]]
  for (const token of tokens) {
    if (token.depth === 0 && isSymbol(token, ',')) elements.push([])
    else elements.at(-1)?.push(token)
  }
  return elements.map((own) => ({ tokens: own, names: namesOf(own).map((name) => name.toLowerCase()) }))
}

/** A subquery has one name. In an expression, the aliases of its parts can be used as well. */
function namesOf(tokens: readonly CodeToken[]): string[] {
  const subquery = namedSubqueries(tokens).find(({ open }) => tokens[open]?.depth === 0)
  if (subquery) return [subquery.name]
  return tokens.flatMap((token, index) => (isKeyword(tokens[index - 1], 'AS') && identifierOf(token)) || [])
}
