import { type CertainTexts, certainTexts } from './certain-texts.ts'
import { metadata } from './metadata-path.ts'
import type { Query } from './query.ts'
import { closingOf, identifierOf, isAlias, isKeyword, isSymbol } from './tokens.ts'

const counts = ['count', 'countif', 'uniq', 'uniqif', 'uniqexact', 'uniqexactif']

export interface CertainColumns {
  /** Counts, which a double holds exactly. */
  counts: ReadonlySet<string>
  /** Metadata as a source stored it. */
  stored: ReadonlySet<string>
  texts: CertainTexts
}

/** What is certain about result columns from the text of a query alone. */
export function certainColumns(query: Query): CertainColumns {
  const { tokens } = query
  const found = { counts: new Set<string>(), stored: new Set<string>(), texts: certainTexts(query) }
  const final = query.scopes.of[tokens.length - 1]
  if (!final || final.depth > 0 || final.first > 0 || tokens.some((token) => isKeyword(token, 'INTERPOLATE')))
    return found
  for (const { first, end } of final.items) {
    const name = identifierOf(tokens[end - 1])
    const isCall =
      isSymbol(tokens[first + 1], '(') &&
      closingOf(tokens, first + 1) === end - 3 &&
      isKeyword(tokens[end - 2], 'AS')
    if (name !== undefined && isCall && counts.includes(tokens[first]?.text.toLowerCase() ?? ''))
      found.counts.add(name)
  }
  const [table, ...others] = final.tables
  const isSource =
    table?.name !== undefined && others.length === 0 && final.certain && !query.subqueriesBy.has(table.name)
  const isStored = final.items.some(
    ({ first, end }) => end === first + 1 && identifierOf(tokens[first]) === metadata,
  )
  const isOther = tokens.some((token, at) => identifierOf(token) === metadata && isAlias(tokens, at))
  if (isSource && isStored && !isOther) found.stored.add(metadata)
  return found
}
