import type { ColumnsOf } from '../paths.ts'
import type { Query } from '../query.ts'
import type { ReadTable, SelectScope } from '../scopes.ts'
import { type CodeToken, closingOf, identifierOf, isKeyword, isSymbol, type TokenRange } from '../tokens.ts'
import type { Warning } from './warning.ts'

export interface Finding extends Pick<Warning, 'code' | 'message'> {
  /** Index of its token; -1 for the start of the SQL. */
  at: number
}

/** Indexes of the tokens of clauses that belong to the SELECT itself. */
export function tokensIn(query: Query, scope: SelectScope, ...keywords: string[]): number[] {
  const indexes: number[] = []
  for (const { keyword, at, end } of scope.clauses) {
    if (!keywords.includes(keyword)) continue
    for (let index = at + 1; index < end; index++) if (query.scopes.of[index] === scope) indexes.push(index)
  }
  return indexes
}

/** The source that a SELECT reads as this table, unless a subquery has the same name. */
export function sourceOf({ subqueriesBy }: Query, { name = '' }: ReadTable, columnsOf: ColumnsOf) {
  return !subqueriesBy.has(name) && columnsOf(name) ? name : undefined
}

export type ColumnUse = NonNullable<ReturnType<typeof columnAt>>

/** A name of a column, as in "timestamp" or "e.timestamp"; undefined for parts of paths, functions and tables. */
export function columnAt({ tokens, scopes }: Query, at: number) {
  const name = identifierOf(tokens[at])
  if (name === undefined || scopes.tableTokens.has(at)) return undefined
  if (isSymbol(tokens[at + 1], '.') || isSymbol(tokens[at + 1], '(')) return undefined
  if (!isSymbol(tokens[at - 1], '.')) return { name, qualifier: undefined }
  const qualifier = identifierOf(tokens[at - 2])
  // With three parts it is a path of metadata, unless the second is a table: then the first is its database.
  const isLonger = isSymbol(tokens[at - 3], '.')
  const isTable = scopes.of[at]?.tables.some((table) => table.name === qualifier)
  if (isLonger && (!isTable || isSymbol(tokens[at - 5], '.'))) return undefined
  return { name, qualifier }
}

export function aliasOf({ tokens }: Query, { first, end }: TokenRange) {
  const at = end - 1
  const name = identifierOf(tokens[at])
  if (name === undefined || at <= first) return undefined
  if (isKeyword(tokens[at - 1], 'AS')) return { name, at, first, end: at - 1 }
  // "count() n" and "timestamp::date day".
  const isCast = isSymbol(tokens[at - 2], ':') && identifierOf(tokens[at - 1]) !== undefined
  const follows = isSymbol(tokens[at - 1], ')') || isSymbol(tokens[at - 1], ']') || isCast
  return follows ? { name, at, first, end: at } : undefined
}

/** The name of the function whose brackets directly contain this token, and the index of its opening bracket. */
export function functionAround({ tokens, brackets }: Query, at: number) {
  const open = brackets[at] ?? -1
  const name = isSymbol(tokens[open], '(') ? identifierOf(tokens[open - 1]) : undefined
  return name === undefined ? undefined : { name, open }
}

/** Index of the token after a call's brackets, for "count(…)" and "quantile(0.9)(…)". */
export function callEnd(tokens: readonly CodeToken[], at: number): number | undefined {
  if (!isSymbol(tokens[at + 1], '(')) return undefined
  let end = closingOf(tokens, at + 1) + 1
  if (isSymbol(tokens[end], '(')) end = closingOf(tokens, end) + 1
  return end
}
