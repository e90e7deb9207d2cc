import { metadata } from '../metadata-path.ts'
import type { ReadTable, SelectScope } from '../scopes.ts'
import { type CodeToken, identifierOf, isKeyword, isSymbol } from '../tokens.ts'
import {
  aliasOf,
  type ColumnsOf,
  type ColumnUse,
  clausesOf,
  columnAt,
  type Finding,
  functionAround,
  grouped,
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
  const isBounded = ownBounds(query, names)
  const isBoundedOutside = outsideBounds(query, names, isBounded, isSandbox)
  return query.selects.flatMap((scope) => {
    if (!scope.certain) return []
    return scope.tables.flatMap((table): Finding[] => {
      const source = sourceOf(query, table, columnsOf)
      if (source === undefined || isBounded(scope, table)) return []
      if (isBoundedOutside(scope)) return []
      const message = `Every entry of ${source} is read. Limit the time, as in timestamp > @now - INTERVAL 1 DAY.`
      return [{ code: 'unbounded_time', message, at: table.at }]
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
    if (before.depth !== depth) continue
    if (isSymbol(before, ',') || isKeyword(before, 'SELECT', 'WITH', 'DISTINCT')) break
    // An alias inside of the expression stands for what precedes it.
    if (first < as && isKeyword(before, 'AS')) break
  }
  return first
}

function timeAt(query: QueryText, at: number, names: ReadonlySet<string>): ColumnUse | undefined {
  const use = columnAt(query, at)
  return use && names.has(use.name) && use.qualifier !== metadata ? use : undefined
}

type IsBounded = (scope: SelectScope, table: ReadTable) => boolean

/** Returns whether a condition of a SELECT depends on the time of the table's rows. */
function ownBounds(query: QueryText, names: ReadonlySet<string>): IsBounded {
  // The conditions of each SELECT are read once, however many tables it has.
  const known = new Map<SelectScope, ReadonlySet<string | undefined>>()
  const qualifiersOf = (scope: SelectScope) => {
    const uses = tokensIn(query, scope, 'FROM', 'WHERE', 'HAVING', 'QUALIFY').flatMap((at) => {
      const use = timeAt(query, at, names)
      return use && !repeating.test(functionAround(query, at)?.name ?? '') ? [use.qualifier] : []
    })
    return new Set(uses)
  }
  return (scope, { alias, name }) => {
    if (!scope.certain) return true
    const qualifiers = known.get(scope) ?? qualifiersOf(scope)
    known.set(scope, qualifiers)
    return qualifiers.has(undefined) || qualifiers.has(alias) || qualifiers.has(name)
  }
}

const maxOpen = 200

/** Returns whether every SELECT that reads the rows of another one limits their time. */
function outsideBounds(
  query: QueryText,
  names: ReadonlySet<string>,
  isBounded: IsBounded,
  isSandbox: boolean,
) {
  const reads = query.selects.flatMap((reader) => reader.tables.map((table) => ({ reader, table })))
  const readersOf = grouped(reads, ({ table }) => table.name)
  const readAt = new Map(reads.map((read) => [read.table.at, read]))
  const namedAt = new Map(query.subqueries.map((subquery) => [subquery.open, subquery]))
  // The SELECTs of a UNION have the same readers.
  const known = new Map<number, boolean>()
  let depth = 0
  const isBoundedOutside = (scope: SelectScope): boolean => {
    const { parent, open } = scope
    if (parent === undefined) return false
    const isShown = isSandbox && parent.parent === undefined && namedAt.has(open)
    if (isShown && showsTime(query, scope, names)) return true
    const before = known.get(open)
    if (before !== undefined) return before
    // A query can refer to itself, or be nested too deep to follow; what it reads then is not certain.
    known.set(open, true)
    if (depth === maxOpen) return true
    depth++
    const bounded = find(parent, open)
    depth--
    known.set(open, bounded)
    return bounded
  }
  const isBoundedIn = ({ reader, table }: (typeof reads)[number]) =>
    isBounded(reader, table) || isBoundedOutside(reader)
  const find = (parent: SelectScope, open: number): boolean => {
    // Only brackets are around it.
    if (!clausesOf(query, parent).some(({ keyword }) => keyword === 'SELECT')) return isBoundedOutside(parent)
    const read = readAt.get(open)
    if (read) return isBoundedIn(read)
    const named = namedAt.get(open)
    if (!named) return false
    const isUnique = query.subqueriesBy.get(named.name)?.length === 1
    if (!isUnique || named.renamesColumns) return true
    // Without a reader, it is not sent to the engine.
    return (readersOf.get(named.name) ?? []).every(isBoundedIn)
  }
  return isBoundedOutside
}

/** Whether those who read the SELECT can limit the time. */
function showsTime(query: QueryText, { items }: SelectScope, names: ReadonlySet<string>): boolean {
  return items.some(({ first, end }) => {
    for (let at = first; at < end; at++) {
      if (isSymbol(query.tokens[at], '*') || timeAt(query, at, names)) return true
    }
    return false
  })
}
