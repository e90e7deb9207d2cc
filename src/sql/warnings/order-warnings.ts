import { isAggregate } from '../functions.ts'
import type { SelectScope } from '../scopes.ts'
import { identifierOf, isKeyword, isSymbol } from '../tokens.ts'
import {
  type Clause,
  callEnd,
  clausesOf,
  columnAt,
  type Finding,
  type QueryText,
  tokensIn,
} from './query-text.ts'

/** LIMIT that keeps any rows, because they have no order. */
export function orderWarnings(query: QueryText): Finding[] {
  return query.selects.flatMap((scope): Finding[] => {
    const clauses = clausesOf(query, scope)
    const limit = clauses.find((clause) => isRowLimit(query, clause))
    if (!limit || clauses.some(({ keyword }) => keyword === 'ORDER')) return []
    const isExists = isKeyword(query.tokens[scope.open - 1], 'EXISTS')
    if (isOneRow(query, scope, clauses) || isOrdered(query, scope) || isExists) return []
    const message = 'LIMIT without ORDER BY can keep different rows each time. Add ORDER BY.'
    return [{ code: 'no_order', message, at: limit.at }]
  })
}

/** LIMIT n, but not LIMIT 0 and not LIMIT n BY column. */
function isRowLimit({ tokens }: QueryText, { keyword, at, end }: Clause): boolean {
  if (keyword !== 'LIMIT') return false
  const own = tokens.slice(at + 1, end)
  return own[0]?.text !== '0' && !own.some((token) => isKeyword(token, 'BY'))
}

/** Whether there is at most one row anyway: an aggregate of everything, a search by id, or no table at all. */
function isOneRow(query: QueryText, scope: SelectScope, clauses: readonly Clause[]): boolean {
  const { tokens, scopes } = query
  if (scope.tables.length === 0) return true
  const isGrouped = clauses.some(({ keyword }) => keyword === 'GROUP')
  const aggregates = scope.items.some(({ first, end }) => {
    for (let at = first; at < end; at++) {
      const name = identifierOf(tokens[at])
      if (name === undefined || scopes.of[at] !== scope || !isAggregate(name)) continue
      const after = callEnd(tokens, at)
      if (after !== undefined && !isKeyword(tokens[after], 'OVER')) return true
    }
    return false
  })
  if (aggregates && !isGrouped) return true
  return tokensIn(query, scope, 'WHERE').some((at) => {
    return columnAt(query, at)?.name === 'id' && isSymbol(tokens[at + 1], '=')
  })
}

/** Whether all rows come from one subquery that has an order, or from a generator, which has its own. */
function isOrdered(query: QueryText, scope: SelectScope): boolean {
  const [table, ...others] = scope.tables
  if (!table || others.length > 0 || !scope.certain) return !scope.certain
  const [named] = query.subqueriesBy.get(table.name ?? '') ?? []
  const isSubquery = isSymbol(query.tokens[table.at], '(')
  if (table.name === undefined && !isSubquery) return true
  const open = isSubquery ? table.at : named?.open
  if (open === undefined) return false
  const inner = query.selectsIn.get(open) ?? []
  return (
    inner.length === 1 && clausesOf(query, inner[0] as SelectScope).some(({ keyword }) => keyword === 'ORDER')
  )
}
