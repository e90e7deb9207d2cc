import { metadata } from '../metadata-path.ts'
import type { ReadTable, SelectScope } from '../scopes.ts'
import { type CodeToken, identifierOf, isKeyword, isSymbol } from '../tokens.ts'
import {
  aliasOf,
  type ColumnsOf,
  clausesOf,
  columnAt,
  type Finding,
  functionAround,
  isQualifierOf,
  type QueryText,
  sourceOf,
  tokensIn,
} from './query-text.ts'

const timestamp = 'timestamp'

/** Functions whose values repeat, so that a condition on one limits nothing. */
const repeating =
  /^(?:to(?:Second|Minute|Hour|DayOfWeek|DayOfMonth|Month|Quarter)|second|minute|hour|dayofweek|dayofmonth|day|month|quarter|extract)$/i

/**
 * Sources that are read without any bound on their timestamp, neither in the SELECT that reads them nor in one that
 * reads its rows.
 */
export function timeWarnings(
  query: QueryText,
  columnsOf: ColumnsOf,
  /** Whether callers add conditions of their own to the named subqueries. */
  isSandbox: boolean,
): Finding[] {
  const names = timeNames(query)
  const isBoundedOutside = outsideBounds(query, names, isSandbox)
  return query.selects.flatMap((scope) => {
    if (!scope.certain) return []
    return scope.tables.flatMap((table): Finding[] => {
      const source = sourceOf(query, table, columnsOf)
      if (source === undefined || isBounded(query, scope, table, names)) return []
      if (isBoundedOutside(scope)) return []
      const message = `Every entry of ${source} is read. Limit the time, as in timestamp > @now - INTERVAL 1 DAY.`
      return [{ code: 'unbounded_time', message, at: (query.tokens[table.at] as CodeToken).start }]
    })
  })
}

/** Names that stand for a timestamp or a value that is computed from one, in any part of the query. */
function timeNames(query: QueryText): Set<string> {
  const { tokens, scopes, selects } = query
  const names = new Set([timestamp])
  const aliases = selects.flatMap(({ items }) => items.flatMap((item) => aliasOf(query, item) ?? []))
  for (let at = 1; at < tokens.length - 1; at++) {
    const name = identifierOf(tokens[at + 1])
    if (!isKeyword(tokens[at], 'AS') || name === undefined || scopes.tableTokens.has(at + 1)) continue
    aliases.push({ name, at, first: expressionStart(tokens, at), end: at })
  }
  const usesOf = new Map<string, Set<string>>()
  for (const { name, first, end } of aliases) {
    for (let at = first; at < end; at++) {
      const use = columnAt(query, at)
      if (!use || use.qualifier === metadata) continue
      const uses = usesOf.get(use.name) ?? new Set()
      usesOf.set(use.name, uses.add(name))
    }
  }
  // A set visits what is added while it is read.
  for (const name of names) for (const alias of usesOf.get(name) ?? []) names.add(alias)
  return names
}

function expressionStart(tokens: readonly CodeToken[], as: number): number {
  const { depth } = tokens[as] as CodeToken
  let first = as
  for (; first > 0; first--) {
    const before = tokens[first - 1] as CodeToken
    if (before.depth < depth) break
    if (before.depth === depth && (isSymbol(before, ',') || isKeyword(before, 'SELECT', 'WITH', 'DISTINCT')))
      break
  }
  return first
}

function isTime(query: QueryText, at: number, names: ReadonlySet<string>, table?: ReadTable): boolean {
  const use = columnAt(query, at)
  if (!use || !names.has(use.name)) return false
  if (use.qualifier === undefined) return true
  return table ? isQualifierOf(use.qualifier, table) : use.qualifier !== metadata
}

/** Whether a condition of the SELECT depends on the time of the table's rows. */
function isBounded(
  query: QueryText,
  scope: SelectScope,
  table: ReadTable,
  names: ReadonlySet<string>,
): boolean {
  if (!scope.certain) return true
  return tokensIn(query, scope, 'FROM', 'WHERE', 'HAVING', 'QUALIFY').some(
    (at) => isTime(query, at, names, table) && !repeating.test(functionAround(query, at)?.name ?? ''),
  )
}

const maxOpen = 200

/** Returns whether every SELECT that reads the rows of another one limits their time. */
function outsideBounds(query: QueryText, names: ReadonlySet<string>, isSandbox: boolean) {
  const known = new Map<SelectScope, boolean>()
  let open = 0
  const isBoundedOutside = (scope: SelectScope): boolean => {
    const before = known.get(scope)
    if (before !== undefined) return before
    // A query can refer to itself, or be nested too deep to follow; what it reads then is not certain.
    known.set(scope, true)
    if (open === maxOpen) return true
    open++
    const bounded = find(scope)
    open--
    known.set(scope, bounded)
    return bounded
  }
  const isBoundedIn = (reader: SelectScope, table: ReadTable) =>
    isBounded(query, reader, table, names) || isBoundedOutside(reader)
  const find = (scope: SelectScope): boolean => {
    const { parent } = scope
    if (parent === undefined) return false
    // Only brackets are around it.
    if (!clausesOf(query, parent).some(({ keyword }) => keyword === 'SELECT')) return isBoundedOutside(parent)
    const table = parent.tables.find(({ at }) => at === scope.open)
    if (table) return isBoundedIn(parent, table)
    const named = query.subqueries.find((subquery) => subquery.open === scope.open)
    if (!named) return false
    if (isSandbox && parent.parent === undefined && showsTime(query, scope, names)) return true
    const isUnique = query.subqueries.filter(({ name }) => name === named.name).length === 1
    if (!isUnique || named.renamesColumns) return true
    // Without a reader, it is not sent to the engine.
    return query.selects.every((reader) =>
      reader.tables.every((read) => read.name !== named.name || isBoundedIn(reader, read)),
    )
  }
  return isBoundedOutside
}

/** Whether those who read the SELECT can limit the time. */
function showsTime(query: QueryText, { items }: SelectScope, names: ReadonlySet<string>): boolean {
  return items.some(({ first, end }) => {
    for (let at = first; at < end; at++) {
      if (isSymbol(query.tokens[at], '*') || isTime(query, at, names)) return true
    }
    return false
  })
}
